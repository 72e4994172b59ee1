"""Replay a real run: the same requests at the same times, and how far the simulator's latencies are from the run's."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any

import numpy as np

from sched.errors import InputError
from sched.real_run import bundled_runs, read_real_run
from sched.replay import COLUMNS, METRICS, STATISTICS, Replay, replay
from sched.replay_setup import setup_of

ROWS_SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN_DIR (--profile DIR | --gpu NAME) [--model NAME] [--host-overhead SECONDS] [--json]."""
    parser.add_argument("run_dir", metavar="RUN_DIR",
                        help=f"requests.jsonl, meta.json and, if there is one, timeseries.csv; or one of "
                        f"{', '.join(bundled_runs())}")  # fmt: skip
    parser.add_argument(
        "--profile", default="", metavar="DIR", help="measured kernel times: a directory, or a bundled profile"
    )
    parser.add_argument("--gpu", default="", metavar="NAME",
                        help="without --profile: the GPU's roofline; with it: its memory and links")  # fmt: skip
    parser.add_argument("--model", default="", metavar="NAME", help="a model or a config.json, if not the run's own")
    parser.add_argument("--host-overhead", type=float, metavar="SECONDS",
                        help="what each step takes beside its kernels, in place of the profile's constant")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: argparse.Namespace) -> int:
    """Replay and print."""
    real = read_real_run(args.run_dir)
    if not (args.profile or args.gpu):
        limit = "RUN_DIR --profile DIR, or RUN_DIR --gpu NAME"
        raise InputError("bad_text", field="replay", value=args.run_dir, limit=limit)
    overhead = args.host_overhead
    if overhead is not None and not -0.001 <= overhead <= 1.0:
        raise InputError("out_of_range", field="--host-overhead", value=overhead, limit="-0.001 to 1 s")
    result = replay(real, setup_of(real, args.profile, args.gpu, args.model, overhead))
    if args.json:
        json.dump(as_json(result), sys.stdout, indent=2)
        print()
    else:
        print(report(result))
    return 0


def as_json(result: Replay) -> dict[str, Any]:
    """The numbers, all in seconds; `error` is a fraction. A number that does not exist is null."""
    numbers: dict[str, Any] = {
        metric: {
            name: {"real": _number(both.real), "ours": _number(both.ours), "error": _number(both.error)}
            for name, both in result.numbers[metric].items()
        }
        for metric in METRICS
    }
    seconds = {name: {"mean_absolute_difference": _difference(result, name)} for name in result.seconds}
    return numbers | {
        "run": result.run.name,
        "num_requests": len(result.run.prompt),
        "num_preemptions": len(result.timeline.preemptions.step),
        "step_time": {"label": result.setup.step_time.label, "source": result.setup.step_time.source},
        "per_second": seconds,
        "notes": list(result.setup.notes),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _difference(result: Replay, name: str) -> float:
    real, ours = result.seconds[name]
    return float(np.abs(real - ours).mean())


def report(result: Replay) -> str:
    """The same in words and tables."""
    run, setup = result.run, result.setup
    lines = [
        f"{run.name}: {len(run.prompt):,} requests, {sum(run.prompt):,} prompt and {sum(run.output):,} output tokens",
        _limits(result),
        setup.step_time.source,
        *(f"note: {note}" for note in setup.notes),
    ]
    if run.left_out:
        lines.append(f"note: {run.left_out} requests without times were left out.")
    lines += ["", f"{'':<10}{'real':>12}{'ours':>12}{'error':>9}"]
    for metric in METRICS:
        for name in STATISTICS:
            both = result.numbers[metric][name]
            lines.append(f"{metric.upper():<5}{name:<5}{_time(both.real)}{_time(both.ours)}{both.error:>+9.1%}")
    return "\n".join(lines + _per_second(result))


def _limits(result: Replay) -> str:
    scheduler, blocks = result.setup.scheduler, result.setup.cache.num_gpu_blocks
    limits = f"max_num_seqs {scheduler.max_num_seqs}, max_num_batched_tokens {scheduler.max_num_batched_tokens}"
    return f"{limits}, {blocks:,} blocks; {len(result.timeline.preemptions.step)} preemptions in our run"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:>9.1f} ms" if seconds < 1 else f"{seconds:>10.2f} s"


def _per_second(result: Replay) -> list[str]:
    """Mean differences, and about a dozen of the seconds."""
    names = [name for name in COLUMNS if name in result.seconds]
    if not names:
        return ["", "No time series to compare with."]
    lines = ["", "per second, real / ours    " + "".join(f"{name:>20}" for name in names)]
    step = max(1, len(result.t) // ROWS_SHOWN)
    for row in range(step - 1, len(result.t), step):
        cells = [f"{result.seconds[name][0][row]:.0f} / {result.seconds[name][1][row]:.0f}" for name in names]
        lines.append(f"{result.t[row]:>10.1f} s" + " " * 15 + "".join(f"{cell:>20}" for cell in cells))
    differences = "".join(f"{_difference(result, name):>20.1f}" for name in names)
    return [*lines, "mean absolute difference   " + differences]
