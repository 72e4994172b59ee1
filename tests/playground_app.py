"""The Playground as Streamlit runs it, without a browser: what its tests share."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from view.share import Place

APP = Path(__file__).parent.parent / "app.py"


SMALL = "smallest_preemption"


FOLDS = ("load_more", "more_title", "pool_title", "time_title", "targets_title", "whatif_title", "all_title", "paste")


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in {"v": "1", "preset": SMALL, **query}.items():
        app.query_params[name] = value
    for name in FOLDS:
        app.session_state[f"x.{name}"] = True
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [one.value for one in app.exception]
    return app


def place(app: AppTest) -> Place:
    return app.session_state["place"]


def said(app: AppTest) -> str:
    parts = [*app.error, *app.warning, *app.caption, *app.markdown]
    return "\n".join(str(one.value) for one in parts)
