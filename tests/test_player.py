"""The player's Python half: what a Picture must fulfil, what its bytes hold, what the offline file contains."""

import json
import re
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

from sched.load import TableRow
from sched.scenario import Scenario
from sched.workload import make_workload
from tests.browser.demo import Demo, demo
from view.paint import caption
from view.player import source
from view.player.component import PLOTLY_FILE, PLOTLY_SOURCE, envelope, publish
from view.player.export import standalone
from view.player.pack import narrow, pack
from view.player.picture import UI_KEYS, Picture, Rects
from view.player.say import plain, say
from view.player.words import words

SMALL = Demo(total=40, window=20, rows=8, blocks=64, cols=16)


def opened(payload: bytes) -> tuple[dict, list[np.ndarray]]:
    """Header and columns of packed bytes, read as wire.js reads them."""
    size, raw = struct.unpack("<II", payload[:8])
    head = json.loads(zlib.decompress(payload[8 : 8 + size]))
    body = zlib.decompress(payload[8 + size :])
    assert len(body) == raw
    return head, [np.frombuffer(body, dtype, length, offset) for dtype, offset, length in head["bufs"]]


def test_columns_come_back_as_they_were_sent() -> None:
    picture = demo(SMALL)
    head, columns = opened(pack(picture))
    sent, got = picture.tracks[0], head["tracks"][0]
    assert isinstance(sent, Rects)
    assert columns[got["o"]].tolist() == sent.offsets.tolist()
    assert columns[got["ids"]].tolist() == sent.ids.tolist()
    assert columns[got["x1"]["c"]].tolist() == sent.x1.tolist()
    assert got["x0"] == 0 and got["along"] == "y"


def test_a_grid_is_its_first_frame_and_its_changes() -> None:
    picture = demo(SMALL)
    head, columns = opened(pack(picture))
    for sent, name in ((picture.images[0].cells, "cells"), (picture.images[0].ids, "ids")):
        first, gaps, values = (columns[head["images"][0][name][part]] for part in ("first", "gaps", "values"))
        size, where = len(first), np.cumsum(gaps)
        frame, out = first.copy(), [first.tolist()]
        for i in range(1, SMALL.window):
            here = (where >= (i - 1) * size) & (where < i * size)
            frame[where[here] % size] = values[here]
            out.append(frame.tolist())
        assert out == sent.tolist()


def test_repeated_words_are_sent_once() -> None:
    head, columns = opened(pack(replace(demo(SMALL), slots={"story": ["same"] * 20, "time": ["same"] * 20})))
    assert head["strings"].count("same") == 1
    assert columns[head["slots"]["story"]].tolist() == [0] * 20


def test_numbers_travel_in_the_fewest_bytes() -> None:
    assert narrow(np.array([0, 255])).dtype == np.uint8
    assert narrow(np.array([-1, 127])).dtype == np.int8
    assert narrow(np.array([-1, 300])).dtype == np.int16
    assert narrow(np.array([0, 70_000])).dtype == np.uint32
    assert narrow(np.array([0.5])).dtype == np.float32
    with pytest.raises(ValueError, match="more than 32 bits"):
        narrow(np.array([2**40]))


def test_windows_of_a_run_share_their_version_and_runs_do_not() -> None:
    versions = [opened(pack(demo(size, start)))[0]["figver"] for size, start in ((SMALL, 0), (SMALL, 20))]
    other = opened(pack(demo(replace(SMALL, seed=1))))[0]["figver"]
    assert versions[0] == versions[1] != other


def test_preemptions_stay_complete_and_other_marks_are_thinned() -> None:
    picture = replace(demo(SMALL), total=100_000, marks={k: np.arange(0, 100_000, 2) for k in ("preempt", "admit")})
    head, columns = opened(pack(picture))
    assert len(columns[head["marks"]["preempt"]]) == 50_000
    assert len(columns[head["marks"]["admit"]]) <= 1_500


def broken(**fields: object) -> Picture:
    return replace(demo(SMALL), **fields)


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (broken(start=30), r"window \[30, \+20\)"),
        (broken(ui={}), "ui lacks player"),
        (broken(slots={"story": ["one"]}), r"slots\['story'\] has 1 entries, but there are 20 frames"),
        (broken(tracks=[demo(SMALL).tracks[0]] * 2), "another track moves this trace"),
        (broken(tracks=[replace(demo(SMALL).tracks[0], trace=99)]), "the figure has 13 traces"),
        (broken(tracks=[replace(demo(SMALL).tracks[0], x1=np.zeros(3))]), r"\.x1 has 3 entries"),
        (broken(tracks=[replace(demo(SMALL).tracks[0], offsets=np.zeros(3, int))]), "frames \\+ 1"),
        (broken(tracks=[replace(demo(SMALL).tracks[2], ids=None)]), "needs ids"),
        (broken(images=[replace(demo(SMALL).images[0], palette=[])]), "the palette has 0"),
        (broken(images=[replace(demo(SMALL).images[0], phone=(1, 2))]), "1 rows of 2 do not hold 64 cells"),
        (broken(areas=[replace(demo(SMALL).areas[0], offsets=None)]), r"areas\[0\] \(waiting\): a list needs offsets"),
    ],
)
def test_a_contradiction_is_named(picture: Picture, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack(picture)


def test_every_word_exists_in_both_languages() -> None:
    for language in ("ko", "en"):
        assert set(words(language)) == set(UI_KEYS)
        assert all(words(language).values())
    assert words("xx") == words("en")


def test_markup_can_be_read_without_its_marks() -> None:
    assert plain(f"{say('asker', 'r1', select=1)} needs {say('code', 'n')}.") == "r1 needs n."


def test_the_script_is_one_module_without_imports() -> None:
    for entry in ("mount", "standalone"):
        script = source.script(entry)
        assert "import " not in "\n".join(line for line in script.splitlines() if line.startswith("import"))
        assert script.count("export ") == (entry == "mount")
    assert "</script" not in source.script("standalone")


def test_no_module_hides_a_name_of_another() -> None:
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", source.script(), re.MULTILINE)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


def test_plotly_is_published_once_and_looks_old(tmp_path) -> None:
    target = publish(tmp_path)
    assert target == tmp_path / "static" / PLOTLY_FILE and target.read_bytes() == PLOTLY_SOURCE.read_bytes()
    before = target.stat()
    assert before.st_mtime == 1_600_000_000
    publish(tmp_path)
    assert target.stat().st_ino == before.st_ino


def test_the_envelope_leaves_the_picture_as_it_is() -> None:
    payload = pack(demo(SMALL))
    data = envelope(payload, goto=("preset", 3), selected=7)
    (size,) = struct.unpack("<I", data[:4])
    assert json.loads(data[4 : 4 + size])["goto"] == ["preset", 3]
    assert data[4 + size :] == payload


@pytest.mark.parametrize(("settings", "said"), [
    ({"source": "table", "rows": (TableRow(0.0, 20, 10, 0),)}, ("직접 적은 request 1개", "1 request made by hand")),
    ({"num_requests": 3, "seed": 8}, ("seed 8로 만든 request 3개", "3 requests made from seed 8")),
])  # fmt: skip
def test_a_saved_picture_says_in_the_readers_language_where_the_requests_come_from(
    settings: dict[str, object], said: tuple[str, str]
) -> None:
    scenario = Scenario().replace(**settings)
    workload = make_workload(scenario.load, scenario.scheduler.max_model_len)
    for language, words_of_it in zip(("ko", "en"), said, strict=True):
        footer = caption(scenario, workload, language, "smallest_preemption")
        assert words_of_it in footer.scenario
        assert f"{footer.scenario} {footer.seed}".count(f"seed {scenario.load.seed}") == 1


def test_the_offline_file_names_no_host_but_holds_the_picture() -> None:
    page = standalone(pack(demo(SMALL)), title="A <b> & c", language="ko", step=5)
    assert "<title>A &lt;b&gt; &amp; c</title>" in page and '<html lang="ko">' in page
    assert "src=" not in page.split('id="sx-plotly"')[0] and "https://" not in page
    assert len(page) < 3_000_000
