"""Measure the simulator's speed: CPU time per generated token on a fixed load, beside vLLM's own if it is installed."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sched.cases import CASE_LIMITS, Case, case_config, case_requests
from sched.commands.bench_trace import made_up_table, trace_table
from sched.engine import Engine, StepArrivals
from sched.errors import InputError
from sched.fast import FastEngine
from sched.jsonl import read_lines, write_lines
from sched.linear import Constant
from sched.timeline import EVERY_STEP

RECORDER = Path(__file__).parents[2] / "tests" / "oracle" / "record.py"
PLAIN = {"async_scheduling": False, "enable_prefix_caching": False}
DEFAULTS = {"async_scheduling": True, "enable_prefix_caching": True}
LOADS = {  # which requests, and what they are run with
    "plain": ("arriving", PLAIN),
    "vLLM's defaults": ("arriving", DEFAULTS),
    "long, plain": ("long", PLAIN),
    "long, defaults": ("long", DEFAULTS),
}
CONFIG = {
    "max_num_batched_tokens": 2048, "max_num_seqs": 256, "max_model_len": 2048, "block_size": 16,
    "num_gpu_blocks": 4096,
}  # fmt: skip
PROMPT, OUTPUT = (64, 448), (32, 352)  # shortest and longest, uniform [tokens]
LONG_PROMPT, LONG_OUTPUT = (16, 64), (100, 180)  # for waves of requests that fit together and mostly decode
WAVE = 128  # requests of a wave, which arrive together


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[--requests N] [--repeats N] [--seed N] [--oracle PYTHON]."""
    parser.add_argument("--requests", type=int, default=2000, metavar="N", help="how many (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each kind (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the lengths (default %(default)s)")
    parser.add_argument("--trace", action="store_true", help="also whole runs: 1,000 requests, Azure's trace")
    parser.add_argument("--oracle", metavar="PYTHON", help="a Python that has vLLM: also time its own scheduler")


def run(args: argparse.Namespace) -> int:
    """Print a table of times, and ratios if there is an oracle."""
    for name in ("requests", "repeats"):
        if not 1 <= getattr(args, name) <= 100_000:
            raise InputError("out_of_range", field=f"--{name}", value=getattr(args, name), limit="1 to 100,000")
    cases = {name: CASES[kind](args.requests, args.seed, extra) for name, (kind, extra) in LOADS.items()}
    print(heading(args, cases))
    times = {
        (kind, load): measured(engine, case, args.repeats)
        for load, case in cases.items() for kind, engine in ENGINES.items()
    }  # fmt: skip
    if args.oracle:
        for load, case in cases.items():
            times["vLLM", load] = vllm_times(args.oracle, case, min(args.repeats, 3))
    for row in table(times, list(cases)):
        print(row)
    if args.trace:
        print()
        for row in (*made_up_table(), "", *trace_table()):
            print(row)
    return 0


def bench_case(count: int, seed: int, extra: dict[str, bool]) -> Case:
    """The fixed load: one request arrives before each step, its lengths drawn from the seed."""
    lengths = random.Random(seed)
    rows = [
        {"id": f"r{i}", "arrival_step": i, "prompt": lengths.randint(*PROMPT), "output": lengths.randint(*OUTPUT)}
        for i in range(count)
    ]
    return {"config": {**CONFIG, **extra}, "requests": rows}


def long_case(count: int, seed: int, extra: dict[str, bool]) -> Case:
    """Waves of requests with answers longer than their prompts: most steps only decode, a whole wave at a time."""
    lengths = random.Random(seed)
    rows = [
        {"id": f"r{i}", "arrival_step": i // WAVE * 200, "prompt": lengths.randint(*LONG_PROMPT),
         "output": lengths.randint(*LONG_OUTPUT)}
        for i in range(count)
    ]  # fmt: skip
    return {"config": {**CONFIG, **extra}, "requests": rows}


CASES = {"arriving": bench_case, "long": long_case}


def num_tokens(case: Case) -> int:
    """Tokens that a load generates [tokens]."""
    return sum(row["output"] for row in case["requests"])


def reference(case: Case, record: bool) -> Callable[[], Any]:
    """One run of the reference engine, ready to go."""
    scheduler, cache = case_config(case)
    specs = case_requests(case, scheduler.max_model_len)
    engine = Engine(specs, StepArrivals(specs), scheduler, cache, Constant(), CASE_LIMITS, record)
    return lambda: engine.timeline(engine.run()) if record else engine.run()


def fast(case: Case, detail: int) -> Callable[[], Any]:
    """One run of the fast engine, ready to go."""
    scheduler, cache = case_config(case)
    specs = case_requests(case, scheduler.max_model_len)
    engine = FastEngine(specs, StepArrivals(specs), scheduler, cache, Constant(), CASE_LIMITS, detail)
    return lambda: engine.timeline(engine.run())


ENGINES: dict[str, Callable[[Case], Callable[[], Any]]] = {
    "reference, recording off": lambda case: reference(case, record=False),
    "reference, recording on": lambda case: reference(case, record=True),
    "fast, for the numbers": lambda case: fast(case, detail=0),
    "fast, whole timeline": lambda case: fast(case, detail=EVERY_STEP),
}


def measured(engine: Callable[[Case], Callable[[], Any]], case: Case, repeats: int) -> list[float]:
    """CPU time per generated token of each run, reading the case left out as it is with vLLM [µs]."""
    times = []
    for _ in range(repeats):
        ready = engine(case)
        start = time.process_time()
        ready()
        times.append((time.process_time() - start) / num_tokens(case) * 1e6)
    return times


def vllm_times(python: str, case: Case, repeats: int) -> list[float]:
    """The same of vLLM's schedule() and update_from_output(), recorded by tests/oracle/record.py [µs]."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = f"{folder}/case.jsonl", f"{folder}/out.jsonl"
        write_lines(given, [case] * repeats)
        command = [python, str(RECORDER), given, "--no-steps", "--out", out]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except OSError as error:
            raise InputError("no_oracle", field="--oracle", value=python, limit=error.strerror) from None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError("no_oracle", field="--oracle", value=python, limit=last) from None
        return [trace["seconds"] / num_tokens(case) * 1e6 for _, trace in read_lines(out)]


def heading(args: argparse.Namespace, cases: dict[str, Case]) -> str:
    """What is measured, in full."""
    arriving, waves = (num_tokens(cases[name]) for name in ("plain", "long, plain"))
    settings = ", ".join(f"{name} {value:,}" for name, value in CONFIG.items())
    loads = "; ".join(f"{name}: {json.dumps(extra)}" for name, (_, extra) in LOADS.items())
    return (
        f"{args.requests:,} requests, one before each step; prompts {PROMPT[0]} to {PROMPT[1]} tokens, answers "
        f"{OUTPUT[0]} to {OUTPUT[1]}, seed {args.seed}; {arriving:,} tokens generated\n"
        f"long: waves of {WAVE} that arrive together; prompts {LONG_PROMPT[0]} to {LONG_PROMPT[1]} tokens, answers "
        f"{LONG_OUTPUT[0]} to {LONG_OUTPUT[1]}; {waves:,} tokens generated\n{settings}\n{loads}\n"
        f"CPU time per generated token [µs]: minimum and median of {args.repeats} runs\n"
    )


def table(times: dict[tuple[str, str], list[float]], loads: list[str]) -> list[str]:
    """One row a kind of run, one column a load; then how many times faster than vLLM."""
    kinds = list(dict.fromkeys(kind for kind, _ in times))
    rows = [f"{'':32}" + "".join(f"{load:>20}" for load in loads)]
    for kind in kinds:
        cells = [f"{min(times[kind, load]):.3f}  {statistics.median(times[kind, load]):.3f}" for load in loads]
        rows.append(f"{kind:32}" + "".join(f"{cell:>20}" for cell in cells))
    for kind in kinds if "vLLM" in kinds else []:
        if kind != "vLLM":
            ratios = [statistics.median(times["vLLM", load]) / statistics.median(times[kind, load]) for load in loads]
            rows.append(f"{'times faster: ' + kind:32}" + "".join(f"{ratio:>19.1f}×" for ratio in ratios))
    return rows
