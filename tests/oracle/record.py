#!/usr/bin/env python3
"""Record golden traces from the vLLM that is installed: what its own scheduler decides in each step of a case.

    record.py CASES.jsonl[.gz] --out TRACES.jsonl[.gz]         one case a line in, one trace a line out
    record.py --random FIRST LAST --out TRACES.jsonl[.gz]      random cases of the seeds FIRST … LAST - 1

No GPU and no weights are needed: vLLM's scheduler and KV cache manager run on the CPU, and the sampled tokens are
made up. The formats are in docs/formats.md, how to set it up is in CONTRIBUTING.md. The simulator and its tests never
need this program.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from random_cases import random_case

os.environ |= {"VLLM_TARGET_DEVICE": "cpu", "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"}
logging.disable(logging.CRITICAL)

import torch
import vllm
from vllm import config as vllm_config
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core import kv_cache_utils
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

Case = dict[str, Any]
MAX_STEPS = 100_000
CACHE_KEYS = ("num_gpu_blocks", "block_size", "enable_prefix_caching")
TINY_MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16", "vocab_size": 512,
    "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1,
    "num_key_value_heads": 1, "max_position_embeddings": 16_777_216, "rms_norm_eps": 1e-5,
    "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": True,
}  # fmt: skip

# Token ids are only compared with each other, so each source of tokens gets a range of its own.
GROUP_TOKENS, CHUNK_TOKENS, OWN_TOKENS, SAMPLED_TOKENS = (kind << 56 for kind in range(1, 5))


class Oracle:
    """vLLM's scheduler with one case's configuration, and the answers of a model that does not exist."""

    def __init__(self, settings: dict[str, Any], model: str) -> None:
        self.scheduler = new_scheduler(settings, model)
        self.hasher = kv_cache_utils.get_request_block_hasher(settings["block_size"], sha256)
        self.requests: dict[str, Request] = {}
        self.place: dict[str, int] = {}
        self.preempted: list[str] = []
        self._watch_preemptions()

    def _watch_preemptions(self) -> None:
        preempt = self.scheduler._preempt_request

        def noted(request: Request, *args: Any, **kwargs: Any) -> Any:
            self.preempted.append(request.request_id)
            return preempt(request, *args, **kwargs)

        self.scheduler._preempt_request = noted

    def add(self, place: int, given: Case) -> None:
        """A request arrives; its place in the case's list is its arrival time, which breaks ties."""
        request = Request(
            request_id=given["id"],
            prompt_token_ids=prompt_tokens(place, given),
            sampling_params=SamplingParams(max_tokens=given["output"], ignore_eos=True),
            pooling_params=None,
            arrival_time=float(place),
            priority=given.get("priority", 0),
            block_hasher=self.hasher,
        )
        self.requests[request.request_id] = request
        self.place[request.request_id] = place
        self.scheduler.add_request(request)

    def schedule(self) -> tuple[Any, list[str]]:
        """One schedule(): its output, and the ids of the requests that will sample a token."""
        self.preempted = []
        output = self.scheduler.schedule()
        return output, [name for name in output.num_scheduled_tokens if not self.requests[name].is_prefill_chunk]

    def apply(self, output: Any, sampling: list[str]) -> list[str]:
        """Give the scheduler the tokens of a step; return the ids of the requests that finished."""
        names = list(output.num_scheduled_tokens)
        if not names:
            return []
        unfinished = [name for name in names if not self.requests[name].is_finished()]
        tokens = [[self._sampled(name)] if name in sampling else [] for name in names]
        result = ModelRunnerOutput(
            req_ids=names, req_id_to_index={name: row for row, name in enumerate(names)}, sampled_token_ids=tokens,
            logprobs=None, prompt_logprobs_dict={}, pooler_output=[],
        )  # fmt: skip
        self.scheduler.update_from_output(output, result)
        return [name for name in unfinished if self.requests[name].is_finished()]

    def _sampled(self, name: str) -> int:
        """A token like no other: no two requests ever generate equal text."""
        return SAMPLED_TOKENS + (self.place[name] << 28) + self.requests[name].num_output_tokens

    def picture(self, step: int, output: Any) -> Case:
        """A step of the trace, as things are between schedule() and its output."""
        scheduler = self.scheduler
        manager = scheduler.kv_cache_manager
        running = [(request.request_id, request) for request in scheduler.running]
        return {
            "step": step,
            "scheduled": [[name, count] for name, count in output.num_scheduled_tokens.items()],
            "preempted": self.preempted,
            "running": [name for name, _ in running],
            "waiting": [request.request_id for request in scheduler.waiting],
            "computed": {name: request.num_computed_tokens for name, request in running},
            "free_blocks": manager.block_pool.get_num_free_blocks(),
            "block_ids": {name: list(manager.get_block_ids(name)[0]) for name, _ in running},
        }


def new_scheduler(settings: dict[str, Any], model: str) -> Scheduler:
    """Build vLLM's scheduler from a case's settings. A setting this vLLM does not have ends the program."""
    is_async = settings.get("async_scheduling", False)
    known = vllm_config.SchedulerConfig.__dataclass_fields__  # fields() leaves out max_model_len, an InitVar
    given = {name: value for name, value in settings.items() if name not in CACHE_KEYS and value is not None}
    if unknown := sorted(given.keys() - known.keys()):
        sys.exit(f"vLLM {vllm.__version__} has no setting {', '.join(unknown)}")
    parts = vllm_config.VllmConfig(
        model_config=vllm_config.ModelConfig(
            model=model, dtype="float16", skip_tokenizer_init=True, max_model_len=settings["max_model_len"]
        ),
        scheduler_config=vllm_config.SchedulerConfig(**given, is_encoder_decoder=False),
        cache_config=vllm_config.CacheConfig(
            block_size=settings["block_size"], enable_prefix_caching=settings.get("enable_prefix_caching", False)
        ),
        device_config=vllm_config.DeviceConfig(device="cpu"),
        parallel_config=vllm_config.ParallelConfig(),
    )
    parts.scheduler_config.async_scheduling = is_async  # vLLM switches it off where there is no GPU
    parts.cache_config.num_gpu_blocks = settings["num_gpu_blocks"]
    layer = FullAttentionSpec(block_size=settings["block_size"], num_kv_heads=1, head_size=1, dtype=torch.float16)
    blocks = KVCacheConfig(
        num_blocks=settings["num_gpu_blocks"], kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["0"], layer)]
    )
    return (AsyncScheduler if is_async else Scheduler)(
        vllm_config=parts, kv_cache_config=blocks, block_size=settings["block_size"], log_stats=False,
        structured_output_manager=StructuredOutputManager(parts),
    )  # fmt: skip


def prompt_tokens(place: int, given: Case) -> list[int]:
    """Token ids that are equal exactly where the case says that prompts are equal.

    Either the first prefix_len tokens are the group's, or each chunk of hash_size tokens with an id in hash_ids is the
    id's (equal ids imply equal chunks before them, as in the public traces). All else is the request's own.
    """
    group, shared = given.get("prefix_group"), given.get("prefix_len", 0)
    ids, size = given.get("hash_ids", ()), given.get("hash_size", 0)
    tokens = []
    for position in range(given["prompt"]):
        if group is not None and position < shared:
            tokens.append(GROUP_TOKENS + (group << 28) + position)
        elif size and position // size < len(ids):
            tokens.append(CHUNK_TOKENS + (ids[position // size] << 28) + position)
        else:
            tokens.append(OWN_TOKENS + (place << 28) + position)
    return tokens


def record(case: Case, model: str, max_steps: int, with_steps: bool) -> Case:
    """Run one case on vLLM; `seconds` is the CPU time inside its schedule() and update_from_output() [s]."""
    oracle = Oracle(case["config"], model)
    unfinished = oracle.scheduler.get_num_unfinished_requests
    arrivals = deque(sorted(enumerate(case["requests"]), key=lambda pair: (pair[1]["arrival_step"], pair[0])))
    depth = 2 if case["config"].get("async_scheduling", False) else 1
    in_flight: deque[tuple[Any, list[str]]] = deque()
    steps: list[Case] = []
    step, seconds = 0, 0.0
    while (arrivals or unfinished()) and step < max_steps:
        if not unfinished():  # an idle engine does not step
            step = max(step, arrivals[0][1]["arrival_step"])
        while arrivals and arrivals[0][1]["arrival_step"] <= step:
            oracle.add(*arrivals.popleft())
        start = time.process_time()
        in_flight.append(oracle.schedule())
        seconds += time.process_time() - start
        output = in_flight[-1][0]
        if with_steps:
            steps.append(oracle.picture(step, output))
        finished: list[str] = []
        due = 1 if len(in_flight) >= depth or not output.num_scheduled_tokens else 0
        while in_flight and (due or not unfinished()):  # after the last answer nothing stays in flight
            start = time.process_time()
            finished += oracle.apply(*in_flight.popleft())
            seconds += time.process_time() - start
            due = 0
        if with_steps:
            steps[-1]["finished"] = finished
        step += 1
    complete = not arrivals and not unfinished()
    return {"vllm": vllm.__version__, **case, "complete": complete, "seconds": round(seconds, 6), "steps": steps}


def read_cases(path: str) -> Iterator[Case]:
    """The cases of a .jsonl or .jsonl.gz file."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def main() -> None:
    """Record all cases, say which vLLM it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", help=".jsonl or .jsonl.gz")
    parser.add_argument("--random", nargs=2, type=int, metavar=("FIRST", "LAST"), help="random cases of these seeds")
    parser.add_argument("--out", required=True, help=".jsonl or .jsonl.gz")
    parser.add_argument("--max-steps", type=int, default=MAX_STEPS, help="end a case before this step number")
    parser.add_argument("--no-steps", action="store_true", help="only time the case, for `python -m sched bench`")
    args = parser.parse_args()
    if (args.cases is None) == (args.random is None):
        parser.error("give either a file of cases or --random")
    cases: Iterable[Case] = map(random_case, range(*args.random)) if args.random else read_cases(args.cases)
    kv_cache_utils.init_none_hash(sha256)
    with (
        tempfile.TemporaryDirectory() as model,
        gzip.open(args.out, "wt") if args.out.endswith(".gz") else open(args.out, "w", encoding="utf-8") as sink,
    ):
        Path(model, "config.json").write_text(json.dumps(TINY_MODEL), encoding="utf-8")
        count = 0
        for case in cases:
            max_steps = min(args.max_steps, case.get("max_steps", MAX_STEPS))
            trace = record(case, model, max_steps, not args.no_steps)
            sink.write(json.dumps(trace, separators=(",", ":")) + "\n")
            count += 1
    print(f"{count} traces of vLLM {vllm.__version__} in {args.out}")


if __name__ == "__main__":
    main()
