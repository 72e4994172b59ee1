"""Links: what goes into one comes out of it, a bad one never breaks the page, an old one means what it meant."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from sched.errors import InputError
from sched.presets import PRESETS
from sched.scenario import SETTINGS, Scenario
from view.controls.page_query import still_left
from view.freeze import frozen
from view.share import CURRENT, LINKS, UPLOAD, Place, decode, encode, query_string, same_scenario, version

EXAMPLES: dict[str, Any] = {
    "classes": ("chat:3:200~0.5:100~0.5:0;batch:1:2000p8000:500:1", "a:1:5:6:0"),
    "rows": ("0.0,34,35,0;0.5,34,35,1",),
    "trace": ("azure_code_2023", "rtx4090_run"),
    "profile": ("RTX-PRO-6000_Llama-3.1-8B",),
    "model_config": ("",),
}


def values(name: str) -> some.SearchStrategy[Any]:
    """Values within the limits of one setting."""
    meta = SETTINGS[name][1].metadata
    if name in EXAMPLES:
        read = meta.get("read", str)
        return some.sampled_from([read(text) for text in EXAMPLES[name]])
    if "switch" in meta:
        return some.booleans()
    if "options" in meta:
        return some.sampled_from(meta["options"])
    if meta.get("real"):
        return some.floats(meta["low"], meta["high"], allow_nan=False)
    return some.integers(meta["low"], meta["high"])


@some.composite
def scenarios(draw: some.DrawFn) -> tuple[str, Scenario]:
    """A preset with any few settings changed, as far as they go together."""
    name = draw(some.sampled_from(sorted(PRESETS)))
    scenario = PRESETS[name].scenario
    for setting in draw(some.lists(some.sampled_from(sorted(SETTINGS)), max_size=8)):
        try:
            scenario = scenario.replace(**{setting: draw(values(setting))})
        except InputError:
            continue
    return name, scenario


@settings(max_examples=150, deadline=None)
@given(scenarios(), some.none() | some.integers(0, 9999), some.none() | some.integers(0, 299),
       some.sampled_from((None, "ko", "en")))  # fmt: skip
def test_what_goes_into_a_link_comes_out_of_it(
    start: tuple[str, Scenario], step: int | None, selected: int | None, language: str | None
) -> None:
    place = Place(start[1], start[0], step, selected, language)
    opened = decode(encode(place))
    assert opened.notices == ()
    assert opened.place == place


garbage = some.dictionaries(
    some.sampled_from([*SETTINGS, "v", "preset", "step", "r", "lang"]) | some.text(max_size=12),
    some.text(max_size=30)
    | some.sampled_from(["1e999", "nan", "-1", "0", "inf", "٣", "1" * 5000, "true", "0,1,1", "{}"]),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(garbage)
def test_no_query_ever_raises(query: dict[str, str]) -> None:
    opened = decode(query)
    for notice in opened.notices:
        assert str(notice)
    assert decode(encode(opened.place)).place == opened.place


def test_a_bad_value_is_named_and_the_rest_is_kept() -> None:
    opened = decode({"v": "1", "preset": "cliff", "rate": "fast", "max_num_seqs": "64", "no_such": "1", "step": "x"})
    assert [notice.parts["field"] for notice in opened.notices] == ["rate", "no_such", "step"]
    assert "fast" in str(opened.notices[0]) and "10,000" in str(opened.notices[0])
    assert opened.place.scenario == PRESETS["cliff"].scenario.replace(max_num_seqs=64)


def test_an_endless_name_is_named_by_its_beginning() -> None:
    (notice,) = decode({"v": "1", "x" * 100_000: "1"}).notices
    assert len(notice.parts["field"]) == 120 and len(str(notice)) < 300


def test_values_that_do_not_go_together_fall_back_with_a_notice() -> None:
    opened = decode({"v": "1", "max_num_batched_tokens": "100", "max_num_seqs": "200", "rate": "3.5"})
    assert [notice.code for notice in opened.notices] == ["budget_below_seqs"]
    assert opened.place.scenario.load.rate == 3.5
    assert opened.place.scenario.scheduler.max_num_seqs == 200


def test_a_link_opens_no_file_and_names_an_upload_it_cannot_hold() -> None:
    opened = decode({"profile": "/etc", "trace": "/etc/passwd"})
    assert [notice.code for notice in opened.notices] == ["unknown_choice", "unknown_choice"]
    opened = decode({"trace": f"{UPLOAD}1a2b"})
    assert [notice.code for notice in opened.notices] == ["no_such_file"]


def test_what_trackers_and_embedding_add_is_passed_over() -> None:
    assert decode({"v": "1", "utm_source": "x", "embed": "true", "embed_options": "dark_theme"}).notices == ()


def test_queries_that_differ_only_in_the_step_hold_the_same_scenario() -> None:
    assert same_scenario({"v": "1", "rate": "3.0", "step": "4", "embed": "true"}, {"v": "1", "rate": "3.0", "r": "1"})
    assert not same_scenario({"v": "1", "rate": "3.0"}, {"v": "1", "rate": "4.0"})


def test_the_newest_version_says_what_is_true_today() -> None:
    today = json.loads(json.dumps(frozen()))
    written = json.loads((LINKS / f"v{CURRENT}.json").read_text(encoding="utf-8"))
    assert written == today, "a preset or default changed: raise CURRENT in view/share.py, write the next links/v*.json"


def test_each_version_can_still_be_read() -> None:
    for number in range(1, CURRENT + 1):
        assert version(number).bases


OLD_LINKS = [
    ("v=1&preset=kv_runs_out", {"rate": 4.2, "prompt_mean": 900, "num_gpu_blocks": 2049, "async_scheduling": True}),
    ("v=1&preset=cliff&rate=7.5&max_num_seqs=80&step=120&r=3&lang=en", {"rate": 7.5, "max_num_seqs": 80}),
    ("v=1&preset=smallest_preemption&policy=priority", {"num_gpu_blocks": 7, "policy": "priority"}),
    ("v=1&preset=chat_against_batch&classes=a%3A1.0%3A5%3A6%3A0", {"num_requests": 200}),
]
"""Links that are out in the world. This list only grows."""


@pytest.mark.parametrize(("link", "means"), OLD_LINKS)
def test_a_link_from_a_year_ago_means_what_it_meant(link: str, means: dict[str, Any]) -> None:
    opened = decode(dict(parse_qsl(link)))
    assert opened.notices == ()
    assert {name: opened.place.scenario.value(name) for name in means} == means
    assert decode(dict(parse_qsl(query_string(opened.place)))) == opened


def test_what_a_slow_browser_may_still_have_of_the_addresses_before() -> None:
    def still(sent: str, left: tuple[str, ...] = ("a", "b", "a"), link: str = "c") -> tuple[str, ...]:
        return still_left(left, link, sent, str.__eq__)

    assert still("a") == ("a", "b", "a"), "perhaps the older one"
    assert still("b") == ("b", "a")
    assert still("c") == () and still("x") == ("a", "b", "a")
    assert still("a", link="a") == ("a", "b", "a"), "perhaps not yet the last"
