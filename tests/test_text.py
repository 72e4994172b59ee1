"""The words of both languages: same keys, same fields, and Korean particles that suit what they follow."""

from __future__ import annotations

import re

import pytest

from sched.lessons import LESSONS
from sched.presets import PRESETS
from sched.simulate import simulate
from view.figures.sheet import wide
from view.figures.stage_layout import desktop
from view.figures.stage_scale import scale_of
from view.figures.stage_words import _legend_spots
from view.player.words import words
from view.playground import ENTRIES
from view.prose import prose
from view.prose import texts as lesson_texts
from view.text import LANGUAGES, fields_of, particle, read, translator


def test_both_languages_have_the_same_keys() -> None:
    korean, english = read("ko"), read("en")
    assert set(korean) == set(english)
    assert len(korean) > 100


def test_fields_of_a_text_are_the_same_in_both_languages_or_left_out() -> None:
    """A language may leave a field out ("its first chunk needs …"), but none may ask for one that the other never has
    unless the caller gives it anyway: the caller gives what either uses."""
    korean, english = read("ko"), read("en")
    allowed = {"count"}  # English says "is" or "are"
    odd = {
        key: fields_of(korean[key]) ^ fields_of(english[key])
        for key in korean
        if (fields_of(korean[key]) ^ fields_of(english[key])) - allowed
        and not (key.startswith("phrases.") and fields_of(korean[key]) < fields_of(english[key]))
    }
    assert not odd


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_unknown_key_and_a_missing_field_raise(language: str) -> None:
    text = translator(language)
    with pytest.raises(KeyError, match="no text"):
        text("story.no_such_thing")
    with pytest.raises(KeyError, match="needed"):
        text("story.why.full_isl", free=3)


def test_an_unknown_language_raises() -> None:
    with pytest.raises(KeyError, match="none of"):
        translator("fr")


@pytest.mark.parametrize(
    ("word", "kind", "wanted"),
    [
        ("r75", "을", "를"), ("r71", "을", "을"), ("r72", "이", "가"), ("r76", "이", "이"), ("r10", "과", "과"),
        ("r4", "과", "와"), ("r8", "은", "은"), ("r9", "는", "는"), ("r1", "으로", "로"), ("r3", "로", "으로"),
        ("블록", "이", "이"), ("큐", "이", "가"), ("서울", "으로", "로"), ("r7)", "을", "을"), ("5%", "을", "를"),
        ("scheduling", "으로", "으로"), ("throughput", "은", "은"), ("kv_cache_dtype", "을", "을"),
        ("step", "으로", "으로"), ("block", "과", "과"), ("prompt", "이", "가"), ("request", "을", "를"),
        ("watermark", "을", "를"), ("link", "은", "는"), ("victim", "은", "은"), ("roofline", "으로", "으로"),
        ("prefill", "으로", "로"), ("model", "이", "이"), ("scheduler", "이", "가"), ("--runner", "과", "와"),
        ("swap", "은", "은"), ("batch", "이", "가"), ("priority", "으로", "로"), ("trace", "을", "를"),
        ("TTFT", "이", "가"), ("ITL", "으로", "로"), ("vLLM", "이", "이"), ("fcfs", "은", "는"), ("KV", "이", "가"),
        ("max_num_seqs", "을", "를"), ("max_model_len", "을", "을"), ("JSON", "으로", "으로"), ("hit", "이", "가"),
    ],
)  # fmt: skip
def test_a_particle_suits_the_sound_of_the_word_before_it(word: str, kind: str, wanted: str) -> None:
    assert particle(word, kind) == wanted


def test_particles_agree_with_what_was_written_by_hand() -> None:
    """Everywhere a translator has put a particle behind an English word, the rule finds the same one."""
    texts = [*read("ko").values(), *(one for name in LESSONS for one in lesson_texts(prose("ko", name)).values())]
    found = {
        pair
        for text in texts
        for pair in re.findall(r"([A-Za-z][A-Za-z_]*)`?(으로|로|이|가|은|는|을|를|과|와)(?![가-힣(])", text)
    }
    odd = {(word, kind) for word, kind in found if particle(word, kind) != kind}
    assert len(found) > 80 and not odd - {("ms", "가")}, "1.5 ms is read 밀리초"


def test_a_particle_stands_outside_the_markup_and_a_number_takes_its_noun() -> None:
    from view.player.say import plain, say

    text = translator("ko")
    told = text("story.taker", name=say("strong", "r72", select=72), n=1_200)
    assert plain(told) == "r72가 1,200개"
    assert told.startswith(say("strong", "r72", select=72))
    english = translator("en")
    assert english("story.returned", freed=1) == "1 block returns."
    assert english("story.returned", freed=2) == "2 blocks return."


def test_percent_signs_and_double_braces_survive() -> None:
    text = translator("en")
    assert text("stage.owner") == "held by r{id}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_legend_of_the_block_map_fits_under_it(language: str) -> None:
    text, place = translator(language), desktop(scale_of(simulate(PRESETS["smallest_preemption"].scenario)))
    name, x = _legend_spots(place, True, text)[-1]
    assert x + 15 + wide(text(f"stage.legend_{name}"), 10.5) <= place.map.right


def test_a_request_that_has_computed_all_is_not_shown_as_finished() -> None:
    english, korean = read("en"), read("ko")
    assert "left to compute" in english["stage.tip_running"] and "그 뒤 계산할" in korean["stage.tip_running"]
    assert "{tokens}} tokens" not in english["stage.tip_running"], "the player fills it in and knows no plural"


def test_few_free_blocks_are_not_called_none() -> None:
    english, korean = read("en"), read("ko")
    for name in ("no_blocks", "full_isl", "watermark"):
        assert "too few blocks" in english[f"stage.left.{name}"] and "모자랍니다" in korean[f"stage.left.{name}"]


def test_the_count_of_preempting_steps_does_not_say_that_this_one_preempts() -> None:
    assert "so far" in words("en")["preempting"] and "지금까지" in words("ko")["preempting"]


def test_the_null_block_is_explained_where_blocks_are_set_and_in_the_glossary() -> None:
    for language, name in (("en", "null block"), ("ko", "null 블록")):
        texts = read(language)
        assert name in texts["controls.num_gpu_blocks.help"]
        assert texts["glossary.null_block.word"] == name


def test_the_help_panel_lists_the_whole_glossary() -> None:
    assert {f"glossary.{name}.word" for name in ENTRIES} == {key for key in read("en") if key.endswith(".word")}


def test_korean_writes_token_in_one_way() -> None:
    assert not [key for key, text in read("ko").items() if "토큰" in text]


def test_no_stray_space_stands_before_the_end_of_a_korean_sentence() -> None:
    texts = {**read("ko"), **words("ko")}
    assert not [key for key, text in texts.items() if re.search(r"[})\w] (입니다|습니다)", text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_words_say_left_or_right_of_what_a_phone_puts_below(language: str) -> None:
    """But for the drawing of the queue, whose front is at its right end on a phone too."""
    side = re.compile(r"왼쪽|오른쪽|\b(on|to) the (left|right)\b|\b(left|right) (run|one|column|half)\b", re.IGNORECASE)
    told = {key: said for key, said in read(language).items() if not key.startswith("stage.queue_")}
    for lesson in LESSONS:
        told |= {f"{lesson}.{key}": said for key, said in lesson_texts(prose(language, lesson)).items()}
    assert not [key for key, said in told.items() if side.search(said)]
