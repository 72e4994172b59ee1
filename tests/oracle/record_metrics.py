#!/usr/bin/env python3
"""Record what the installed vLLM logs and counts of timed cases: its own log lines and Prometheus text.

    record_metrics.py CASES.jsonl --out STATS.jsonl

A timed case is a case whose requests also have `arrival` [s], with `times`: for each step when schedule() ran and when
the step ended [s]. vLLM's scheduler, output processor and stat loggers run as they are; only the clock is set by hand.
Made with tests/test_operator_view.py's timed_case(); see record.py for the set-up.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import record  # first: it sets up vLLM's environment
from prometheus_client import REGISTRY, generate_latest
from vllm.sampling_params import SamplingParams
from vllm.v1.core import kv_cache_utils
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.engine.output_processor import OutputProcessor
from vllm.v1.metrics import loggers
from vllm.v1.metrics.stats import IterationStats, PrefixCacheStats, SchedulerIterationDetails
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.utils import compute_iteration_details

INTERVAL = 10.0
START = 1024.0  # what the clock says when a run begins: vLLM takes a time of 0 for "not yet"


class Server:
    """vLLM from the scheduler to its loggers, with a clock that is moved by hand."""

    def __init__(self, case: dict[str, Any], model: str) -> None:
        self.now = START
        self.lines: list[list[Any]] = []
        self.iterations = 0
        time.monotonic = time.time = lambda: self.now
        self.oracle = record.Oracle(case["config"], model)
        scheduler = self.oracle.scheduler
        scheduler.use_v2_model_runner = case.get("v2_runner", True)
        scheduler.log_stats = scheduler.kv_cache_manager.log_stats = True
        scheduler.kv_cache_manager.prefix_cache_stats = PrefixCacheStats()
        config = scheduler.vllm_config
        config.device_config.device_type = "cuda"
        config.model_config.served_model_name = "model"
        self.processor = OutputProcessor(None, log_stats=True)
        self.log, self.prometheus = loggers.LoggingStatLogger(config), loggers.PrometheusStatLogger(config)
        loggers.logger.info = lambda text, *args: self.lines.append([self.now - START, "INFO", text % args])
        loggers.logger.debug = lambda text, *args: self.lines.append([self.now - START, "DEBUG", text % args])
        self.next_log = START + INTERVAL

    def add(self, place: int, given: dict[str, Any]) -> None:
        """A request arrives at its own time, and is taken in now."""
        self.processor.add_request(
            EngineCoreRequest(
                given["id"], [1] * given["prompt"], None, SamplingParams(max_tokens=given["output"], ignore_eos=True),
                None, START + given["arrival"], None, None, None, external_req_id=given["id"],
            ), None,
        )  # fmt: skip
        self.oracle.add(place, given)

    def write_lines_before(self, moment: float) -> None:
        """The log lines due before a moment [s]."""
        while self.next_log < moment:
            self.now = self.next_log
            self.log.log()
            self.next_log += INTERVAL

    def apply(self, output: Any, sampling: list[str], end: float) -> None:
        """A step's output, at the step's end."""
        self.write_lines_before(end)
        self.now = end
        names = list(output.num_scheduled_tokens)
        tokens = [[self.oracle._sampled(name)] if name in sampling else [] for name in names]
        result = ModelRunnerOutput(
            req_ids=names, req_id_to_index={name: row for row, name in enumerate(names)}, sampled_token_ids=tokens,
            logprobs=None, prompt_logprobs_dict={}, pooler_output=[],
        )  # fmt: skip
        for outputs in self.oracle.scheduler.update_from_output(output, result).values():
            if names and outputs.scheduler_stats is not None:
                found = compute_iteration_details(output)
                outputs.scheduler_stats.iteration_details = SchedulerIterationDetails(
                    self.iterations, found.num_ctx_requests, found.num_ctx_tokens, found.num_generation_requests,
                    found.num_generation_tokens, elapsed_ms=0.0,
                )  # fmt: skip
                self.iterations += 1
            stats = IterationStats() if outputs.outputs else None
            self.processor.process_outputs(outputs.outputs, end, stats)
            for logger in (self.log, self.prometheus):
                logger.record(scheduler_stats=outputs.scheduler_stats, iteration_stats=stats)


def run(case: dict[str, Any], model: str) -> dict[str, Any]:
    """One timed case: the lines as [time, level, text], and the Prometheus text at the end."""
    server = Server(case, model)
    unfinished = server.oracle.scheduler.get_num_unfinished_requests
    arrivals = deque(enumerate(case["requests"]))
    depth = 2 if case["config"].get("async_scheduling", False) else 1
    in_flight: deque[Any] = deque()
    for step, (scheduled, ended) in enumerate(case["times"]):
        scheduled_at, end = START + scheduled, START + ended
        server.write_lines_before(scheduled_at)
        server.now = scheduled_at
        while arrivals and arrivals[0][1]["arrival_step"] <= step:
            server.add(*arrivals.popleft())
        in_flight.append((*server.oracle.schedule(), end))
        due = len(in_flight) >= depth or not in_flight[-1][0].num_scheduled_tokens
        while in_flight and (due or not unfinished()):
            server.apply(*in_flight.popleft())
            due = False
    server.write_lines_before(START + case["times"][-1][1] + 4 * INTERVAL)
    return {"lines": server.lines, "prometheus": generate_latest(REGISTRY).decode()}


def main() -> None:
    """Record all timed cases of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    kv_cache_utils.init_none_hash(record.sha256)
    with tempfile.TemporaryDirectory() as model, open(args.out, "w", encoding="utf-8") as sink:
        Path(model, "config.json").write_text(json.dumps(record.TINY_MODEL), encoding="utf-8")
        for line in Path(args.cases).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            sink.write(json.dumps({**case, **run(case, model)}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
