"""Export a timed run as a case, whose requests arrive before steps, so that vLLM's own scheduler can be run on it."""

from __future__ import annotations

import argparse

from sched.case_export import refuse_what_ifs, to_case
from sched.commands.scenario_options import add_scenario_options, scenario_of
from sched.file_access import refuse_unwritable
from sched.jsonl import write_lines
from sched.simulate import simulate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Scenario options, --out CASE."""
    add_scenario_options(parser)
    parser.add_argument("--out", required=True, metavar="CASE", help=".jsonl or .jsonl.gz, for `python -m sched trace`")


def run(args: argparse.Namespace) -> int:
    """Run the scenario and write its case."""
    refuse_unwritable(args.out)
    scenario, workload = scenario_of(args)
    refuse_what_ifs(scenario.scheduler)
    timeline = simulate(scenario, workload)
    case = to_case(timeline)
    write_lines(args.out, [case])
    print(f"{len(case['requests']):,} requests, {timeline.num_steps:,} steps: {args.out}")
    if timeline.end.how != "finished":
        print(
            f"the run did not finish ({timeline.end.how}): the case is the same up to step {timeline.num_steps - 1:,}"
        )
    return 0
