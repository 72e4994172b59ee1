"""The files of `python -m sched run --out`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sched.export import events_table, requests_table, steps_table, to_csv, to_records
from sched.file_access import cannot_write, refuse_unwritable
from sched.metrics import PerRequest
from sched.timeline import Timeline


def refuse_output(path: str) -> None:
    """Refuse a place that write_run could not write to, before anything is run. Raises InputError saying why."""
    refuse_unwritable(path, folder=Path(path).suffix != ".json")


def write_run(path: str, timeline: Timeline, each: PerRequest, result: dict[str, Any]) -> None:
    """Write requests, steps, events and the summary: into a folder, or into one file if the name ends in .json.

    Raises InputError if that cannot be done.
    """
    tables = {
        "requests": requests_table(timeline, each), "steps": steps_table(timeline), "events": events_table(timeline),
    }  # fmt: skip
    target = Path(path)
    try:
        if target.suffix == ".json":
            whole = {"summary": result, **{name: to_records(table) for name, table in tables.items()}}
            _write(target, json.dumps(whole))
            return
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            _write(target / f"{name}.csv", to_csv(table), newline="")
        _write(target / "summary.json", json.dumps(result, indent=2) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None


def _write(path: Path, text: str, newline: str | None = None) -> None:
    refuse_unwritable(path)
    path.write_text(text, encoding="utf-8", newline=newline)
