"""The files of `python -m sched run --out`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sched.errors import InputError
from sched.export import events_table, requests_table, steps_table, to_csv, to_records
from sched.metrics import PerRequest
from sched.timeline import Timeline


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
            target.write_text(json.dumps(whole), encoding="utf-8")
            return
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            (target / f"{name}.csv").write_text(to_csv(table), encoding="utf-8", newline="")
        (target / "summary.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError("unwritable_file", where=path, value=error.strerror or error) from None
