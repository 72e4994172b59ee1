"""The words of both languages: same keys, same fields, and Korean particles that suit what they follow."""

from __future__ import annotations

import pytest

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
        ("블록", "이", "이"), ("큐", "이", "가"), ("서울", "으로", "로"), ("r7)", "을", "을"),
    ],
)  # fmt: skip
def test_a_particle_suits_the_sound_of_the_word_before_it(word: str, kind: str, wanted: str) -> None:
    assert particle(word, kind) == wanted


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
