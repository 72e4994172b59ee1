"""Say what to change: try every change worth it, keep what helps the goal, and name the flag and the cost of each."""

from __future__ import annotations

import argparse

from sched.advise import Advice, Trial, advise
from sched.commands.scenario_options import add_scenario_options, scenario_and_trace
from sched.measures import GOALS
from sched.over_seeds import Numbers
from sched.parallel import ALL_CORES, Workers

FINDINGS = {
    "order": "It is order, not capacity: served by priority, the most urgent wait {urgent_after:.2f} s instead of "
    "{urgent_before:.2f} s (p99 of TTFT) and the others {other_after:.2f} s instead of {other_before:.2f} s.",
    "load": "It is the load: {factor:.2f} times as many tokens are asked for as this hardware could make of these "
    "requests at best. No knob will make up for that; what helps a little is below.",
    "room": "Nothing is short.",
    "no_knob": "No knob helps: with as much KV and as many places as everybody could want it would be {limit:.3f} "
    "instead of {before:.3f}.",
}
"""What the verdict's own sentence does not say."""
COLUMNS = (
    ("tokens/s", "throughput", 1.0), ("goodput", "goodput", 1.0), ("TTFT p99 s", "ttft_p99", 1.0),
    ("ITL p99 ms", "itl_p99", 1000.0), ("preempted", "preemptions", 1.0),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Scenario options, [--goal NAME] [--jobs N] [--dask ADDRESS]."""
    add_scenario_options(parser)
    parser.add_argument("--goal", default="throughput", metavar="NAME",
                        help=f"what to improve: {', '.join(GOALS)} (default %(default)s)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=ALL_CORES, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--dask", default="", metavar="ADDRESS", help="run on this Dask cluster: tcp://host:8786")


def run(args: argparse.Namespace) -> int:
    """Try, and print what helps."""
    scenario, trace = scenario_and_trace(args)
    print(report(advise(scenario, args.goal, trace, Workers(args.jobs, args.dask))))
    return 0


def report(advice: Advice) -> str:
    """What limits the run, what kind of problem it is, and a table of what helps."""
    finding = advice.finding
    lines = [str(advice.verdict)]
    if finding.code in FINDINGS:
        lines.append(FINDINGS[finding.code].format(**finding.parts))
    lines += ["", f"{advice.tried} changes tried for {advice.goal}, the best ones with {advice.seeds} seeds:", ""]
    lines.append(f"{'':<40}{'gain':>8}" + "".join(f"{head:>12}" for head, _, _ in COLUMNS))
    lines.append(f"{'as it is':<40}{'':>8}" + _cells(advice.before))
    lines += [_row(trial) for trial in advice.trials] or ["nothing helps"]
    return "\n".join(lines)


def _row(trial: Trial) -> str:
    remedy = trial.remedy
    costs = [f"{remedy.gpus} GPUs"] if remedy.kind == "hardware" else []
    costs += [f"{remedy.blocks:+,} blocks"] if remedy.blocks else []
    costs += [f"worse: {', '.join(trial.worse)}"] if trial.worse else []
    return f"{remedy.flag:<40}{trial.gain:>+8.0%}" + _cells(trial.after) + "".join(f"   {cost}" for cost in costs)


def _cells(numbers: Numbers) -> str:
    return "".join(f"{numbers[name] * scale:>12,.2f}" for _, name, scale in COLUMNS)
