"""Turn a knob or two and run the scenario for each value and seed: where is the best value, where does it collapse?

Runs in parallel on all cores, or on a Dask cluster; the numbers are the same.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from sched.commands.scenario_options import add_scenario_options, scenario_and_trace
from sched.errors import InputError
from sched.export import to_csv
from sched.file_access import cannot_write, refuse_unwritable
from sched.knee import Turn, best, turn
from sched.measures import MEASURES
from sched.parallel import ALL_CORES, Workers
from sched.sweep import Axis, Outcome, Row, Sweep, outcomes, plan_sweep, rows
from sched.sweep_table import sweep_table
from sched.sweep_values import read_axis

SHOWN = ("throughput", "goodput", "ttft_p50", "ttft_p99", "itl_p50", "itl_p99", "preemptions", "recompute_tax")
HEADS = (
    "tokens/s", "goodput", "TTFT p50 s", "TTFT p99 s", "ITL p50 ms", "ITL p99 ms", "preempted", "tax %"
)  # fmt: skip
SCALES = {"itl_p50": 1000.0, "itl_p99": 1000.0, "recompute_tax": 100.0}
TURNS = {
    "best": "{measure} is best at {knob} = {at}: {value:,.4g} (at the ends {first:,.4g} and {last:,.4g}).",
    "knee": "{measure} has its knee at {knob} = {at}: {value:,.4g}; from {first:,.4g} to {last:,.4g} in all.",
    "cliff": "{measure} holds up to {knob} = {at}: {value:,.4g} there; at {beyond} it falls off.",
    "cliff_below": "{measure} holds from {knob} = {at} on: {value:,.4g} there; at {beyond} it has not got there yet.",
    "flat": "{measure} hardly depends on {knob}: {first:,.4g} to {last:,.4g}.",
    "steady": "{measure} has no turn; it is best at the end {knob} = {at}: {value:,.4g}.",
    "few": "{measure} is best at the end {knob} = {at}: {value:,.4g}; too few values to show a knee.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Scenario options, --knob NAME --values A,B,… [--knob2 NAME --values2 …] [--seeds N] [--measure NAME] …"""
    add_scenario_options(parser)
    parser.add_argument("--knob", required=True, metavar="NAME", help="the setting to turn, by the name of --set")
    parser.add_argument("--values", required=True, metavar="A,B,…", help="the values it takes, in order")
    parser.add_argument("--knob2", default="", metavar="NAME", help="a second one: every value with every value")
    parser.add_argument("--values2", default="", metavar="A,B,…")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs of each point (default %(default)s)")
    parser.add_argument("--measure", default="throughput", metavar="NAME",
                        help=f"whose turn is looked for: {', '.join(MEASURES)} (default %(default)s)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=ALL_CORES, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--dask", default="", metavar="ADDRESS", help="run on this Dask cluster: tcp://host:8786")
    parser.add_argument("--csv", default="", metavar="FILE", help="also write all numbers")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    """Make the runs, print the table and where the curve turns."""
    if args.measure not in MEASURES:
        raise InputError("unknown_choice", field="--measure", value=args.measure, limit=", ".join(MEASURES))
    if args.csv:
        refuse_unwritable(args.csv)
    axes = _axes(args)
    scenario, trace = scenario_and_trace(args)
    sweep = plan_sweep(scenario, axes, args.seeds, trace)
    done = _with_progress(sweep, Workers(args.jobs, args.dask))
    found = rows(sweep, done)
    if args.csv:
        _write(args.csv, sweep, found)
    if args.json:
        json.dump(_as_json(sweep, found, args.measure), sys.stdout, indent=2)
        print()
    else:
        print(report(sweep, found, args.measure))
    return 0


def _axes(args: argparse.Namespace) -> list[Axis]:
    """One knob or two; what is given twice is said to be run once."""
    if bool(args.knob2) != bool(args.values2):
        missing, limit = ("--knob2", "NAME, the knob that --values2 is for") if args.values2 else ("--values2", "A,B,…")
        raise InputError("bad_text", field=missing, value="(nothing)", limit=limit)
    pairs = [(args.knob, args.values), *([(args.knob2, args.values2)] if args.knob2 else [])]
    axes = [read_axis(name, text) for name, text in pairs]
    for axis in axes:
        if axis.repeated:
            values = ", ".join(map(str, axis.repeated))
            print(f"note: {axis.name}: given more than once, run once: {values}", file=sys.stderr)
    return axes


def _with_progress(sweep: Sweep, workers: Workers) -> list[Outcome]:
    """The outcomes; on a terminal a line counts them."""
    done = []
    for outcome in outcomes(sweep, workers):
        done.append(outcome)
        if sys.stderr.isatty():
            print(f"\r{len(done):,} of {sweep.num_runs:,} runs", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 40, end="\r", file=sys.stderr)
    return done


def _write(path: str, sweep: Sweep, found: tuple[Row, ...]) -> None:
    try:
        Path(path).write_text(to_csv(sweep_table(sweep, found)), encoding="utf-8", newline="")
    except OSError as error:
        raise cannot_write(path, error) from None


def report(sweep: Sweep, found: tuple[Row, ...], measure: str) -> str:
    """A table, one row a point, means over the seeds; then the turn in words."""
    names = [axis.name for axis in sweep.axes]
    lines = [
        f"{sweep.num_runs:,} runs: {len(sweep.points):,} points, {len(sweep.seeds)} seeds each; means over the seeds",
        "  ".join(f"{name:>12}" for name in names) + "".join(f"{head:>12}" for head in HEADS),
    ]
    for row in found:
        values = "  ".join(f"{value!s:>{max(12, len(name))}}" for value, name in zip(row.values, names, strict=True))
        lines.append(values + (f"   {row.refused}" if row.refused else "".join(_cells(row))))
    return "\n".join([*lines, "", _turn_in_words(sweep, found, measure)])


def _cells(row: Row) -> list[str]:
    marks = ["" if end == "finished" else f"  ({end})" for end in row.ends]
    return [f"{row.mean(name) * SCALES.get(name, 1.0):>12,.2f}" for name in SHOWN] + marks


def _turn_in_words(sweep: Sweep, found: tuple[Row, ...], measure: str) -> str:
    if len(sweep.axes) == 1:
        turned = turn(found, measure)
        return _words(turned, sweep, found) if turned else "too few points for a curve"
    place = best(found, measure)
    if place is None:
        return "no point could be run"
    at = ", ".join(f"{axis.name} = {value}" for axis, value in zip(sweep.axes, found[place].values, strict=True))
    return f"{measure} is best at {at}: {found[place].mean(measure):,.4g}."


def _words(turned: Turn, sweep: Sweep, found: tuple[Row, ...]) -> str:
    return TURNS[turned.told_as].format(
        measure=turned.measure, knob=sweep.axes[0].name, at=found[turned.place].values[0], value=turned.value,
        first=turned.first, last=turned.last, beyond=found[turned.beyond].values[0],
    )  # fmt: skip


def _as_json(sweep: Sweep, found: tuple[Row, ...], measure: str) -> dict[str, Any]:
    """All numbers with their bands; what has no value is null."""
    points = [
        {
            "values": dict(zip((axis.name for axis in sweep.axes), row.values, strict=True)),
            "runs": row.num_runs, "ends": row.ends, "refused": str(row.refused) if row.refused else None,
            "numbers": {
                name: {"mean": _number(band.mean), "low": _number(band.low), "high": _number(band.high)}
                for name, band in row.numbers.items()
            },
        }
        for row in found
    ]  # fmt: skip
    turned = turn(found, measure) if len(sweep.axes) == 1 else None
    where = None if turned is None else {
        "kind": turned.kind, "measure": turned.measure, "at": found[turned.place].values[0], "value": turned.value,
    }  # fmt: skip
    return {"seeds": sweep.seeds, "points": points, "turn": where}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
