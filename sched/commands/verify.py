"""Run the cases of golden traces and compare every field of every step with what vLLM's own scheduler decided."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sched.cases import Case, run_case
from sched.engine import Limits
from sched.errors import InputError
from sched.golden import Difference, first_difference, gold_steps, is_complete, trace_of
from sched.jsonl import read_lines

SHOWN = 300  # characters of a value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """GOLD…"""
    parser.add_argument("gold", metavar="GOLD", nargs="+", help="golden traces, .jsonl or .jsonl.gz")


def run(args: argparse.Namespace) -> int:
    """Print how many cases are identical, per file; 0 only if all are."""
    results = [_verify_file(path) for path in args.gold]
    identical, cases = (sum(column) for column in zip(*results, strict=True))
    if len(results) > 1:
        print(f"all files: {identical} of {cases} identical")
    return 0 if identical == cases else 1


def _verify_file(path: str) -> tuple[int, int]:
    identical = cases = 0
    first = ""
    for number, gold in read_lines(path):
        cases += 1
        difference = compare(gold, f"{path}, line {number}")
        if difference is None:
            identical += 1
        elif not first:
            named = f" ({gold['name']})" if "name" in gold else ""
            first = f"  first difference: case {cases}{named}, {described(difference)}"
    if not cases:
        raise InputError("no_cases", where=path)
    print(f"{path}: {identical} of {cases} identical")
    if first:
        print(first)
    return identical, cases


def compare(gold: Case, where: str) -> Difference | None:
    """Run a golden trace's case and find where it first differs, if anywhere.

    A trace that was cut is compared up to the cut; vLLM steps on where nobody can get any further, and so do we here.
    """
    steps = gold_steps(gold, where)
    complete = gold.get("complete", True)
    timeline = run_case(gold, where, Limits(len(steps) + bool(complete), 2**62, end_when_stuck=False))
    difference = first_difference(steps, trace_of(timeline))
    if difference is None and is_complete(timeline) != complete:
        return Difference(len(steps), "complete", complete, is_complete(timeline))
    return difference


def described(difference: Difference) -> str:
    """Step, field and both values, on one line."""
    gold, ours = shortened(difference.gold), shortened(difference.ours)
    return f"step {difference.step}, {difference.field}: golden {gold}, simulator {ours}"


def shortened(value: Any) -> str:
    """A value as JSON, cut where it gets too long to read."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
