"""Run cases and write what the scheduler decides in each step. The formats are in docs/formats.md."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from sched.cases import CASE_LIMITS
from sched.errors import InputError
from sched.golden import trace_row
from sched.jsonl import read_lines, write_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """CASES --out OUT [--max-steps N]."""
    parser.add_argument("cases", metavar="CASES", help=".jsonl or .jsonl.gz, one case a line")
    parser.add_argument("--out", required=True, metavar="OUT", help=".jsonl or .jsonl.gz, one trace a line")
    parser.add_argument("--max-steps", type=int, default=CASE_LIMITS.max_steps, metavar="N",
                        help="cut a case after so many steps (default %(default)s)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write one trace for each case."""
    if os.path.exists(args.out) and os.path.exists(args.cases) and os.path.samefile(args.cases, args.out):
        raise InputError("same_file", value=args.out)
    if args.max_steps < 1:
        raise InputError("out_of_range", field="--max-steps", value=args.max_steps, limit="1 or more")
    count = write_lines(args.out, _traces(args))
    print(f"{count} traces in {args.out}")
    return 0


def _traces(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    limits = dataclasses.replace(CASE_LIMITS, max_steps=args.max_steps)
    number = None
    for number, case in read_lines(args.cases):
        yield trace_row(case, f"{args.cases}, line {number}", limits)
    if number is None:
        raise InputError("no_cases", where=args.cases)
