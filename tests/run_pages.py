"""The pages that make many runs, as Streamlit runs them: what their tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from sched.sweep import Outcome
from view.job import Job

ROOT = Path(__file__).parents[1]


SMALL = {"v": "1", "preset": "recompute_tax", "num_requests": "30"}


def opened(page: str, **query: str) -> AppTest:
    """A page behind a link, as its visitor sees it when all runs are done."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    for name, value in {**SMALL, **query}.items():
        app.query_params[name] = value
    app.run()
    app.switch_page(next(path for path in (ROOT / "pages").glob(f"*_{page}.py")).relative_to(ROOT).as_posix())
    return done(app)


def done(changed: Any) -> AppTest:
    """Run the page (a widget that was changed runs its page) until all its jobs are done."""
    app = sound(changed.run())
    for key in ("sweep.job", "advise.job"):
        if key in app.session_state:
            job: Job[Outcome] = app.session_state[key][1]
            job.wait(60)
            assert job.error is None
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [one.value for one in app.exception]
    return app


def growing(app: AppTest) -> list[dict[str, Any]]:
    """The figures of the sweep page, which are drawn into the same place again and again."""
    parts = [one.proto for one in app.get("bidi_component") if one.proto.component_name.endswith("growing_charts")]
    return [json.loads(chart["spec"]) for part in parts for chart in json.loads(part.json)["charts"]]


def said(app: AppTest) -> str:
    return "\n".join([*(str(one.proto.body) for one in app.get("html")), *(one.value for one in app.caption)])
