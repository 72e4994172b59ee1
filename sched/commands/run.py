"""Run a scenario and print what came of it: speed, latencies, preemptions, who paid for them, and what limits it."""

from __future__ import annotations

import argparse
import json
import sys

from sched.bench_result import bench_result
from sched.commands.run_files import refuse_output, write_run
from sched.commands.run_text import log_text, report
from sched.commands.scenario_options import add_scenario_options, scenario_of
from sched.metrics import per_request, summarize
from sched.simulate import simulate, step_time_of
from sched.verdict import verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Scenario options, [--json] [--log] [--out DIR_OR_FILE]."""
    add_scenario_options(parser)
    parser.add_argument("--json", action="store_true",
                        help="print the numbers as JSON, in `vllm bench serve`'s field names and ours")  # fmt: skip
    parser.add_argument("--log", action="store_true",
                        help="print the log that vLLM would have written, and what it does not mention")  # fmt: skip
    parser.add_argument("--out", metavar="DIR_OR_FILE",
                        help="write requests, steps and events: CSV files into a folder, or one FILE.json")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Simulate, print, write."""
    if args.out is not None:
        refuse_output(args.out)
    scenario, workload = scenario_of(args)
    timeline = simulate(scenario, workload)
    summary, each = summarize(timeline, scenario.targets), per_request(timeline, scenario.targets)
    found, model = verdict(timeline, summary), step_time_of(scenario)
    result = bench_result(timeline, summary, scenario.targets, model.label, str(found))
    if args.out is not None:
        write_run(args.out, timeline, each, result)
    if args.json:
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        for note in workload.notes:
            print(f"note: {note}")
        print(report(scenario, workload, timeline, summary, each, found, model))
    if args.log:
        print(log_text(timeline), file=sys.stderr if args.json else sys.stdout)
    return 0
