"""Random timed scenarios of many kinds, small pools mostly, so that most of them preempt."""

from __future__ import annotations

import random
from typing import Any

from sched.errors import InputError
from sched.scenario import Scenario, read_value
from sched.simulate import cache_of


def random_scenario(seed: int) -> Scenario | None:
    """A scenario of this seed; None if its parts do not fit together."""
    draw = random.Random(seed)
    block_size, max_model_len = draw.choice([1, 2, 4, 8, 16, 16, 32]), draw.choice([64, 128, 256, 512, 1024])
    max_num_seqs = draw.choice([1, 2, 4, 8, 16, 64, 256])
    need = -(-max_model_len // block_size)
    settings: dict[str, Any] = {
        "block_size": block_size,
        "max_model_len": max_model_len,
        "max_num_seqs": max_num_seqs,
        "max_num_batched_tokens": max(draw.choice([8, 16, 32, 64, 128, 256, 512, 2048, 8192]), max_num_seqs),
        "num_gpu_blocks": 1 + need + draw.choice([0, 1, need // 4, need // 2, need, 3 * need, 8 * need]),
        **_rules(draw, max_model_len, max_num_seqs, need),
        **_load(draw, seed, max_model_len, block_size),
    }
    if not settings["enable_chunked_prefill"]:
        settings["long_prefill_token_threshold"] = 0
        settings["max_num_batched_tokens"] = max(settings["max_num_batched_tokens"], max_model_len)
    try:
        scenario = Scenario().replace(**settings)
        cache_of(scenario)
    except InputError:
        return None
    return scenario


def _rules(draw: random.Random, max_model_len: int, max_num_seqs: int, need: int) -> dict[str, Any]:
    return {
        "policy": draw.choice(["fcfs", "fcfs", "priority"]),
        "enable_prefix_caching": draw.random() < 0.5,
        "enable_chunked_prefill": draw.random() < 0.85,
        "long_prefill_token_threshold": min(draw.choice([0, 0, 0, 16, 64]), max_model_len),
        "long_prefill_token_threshold_adaptive": draw.random() < 0.2,
        "scheduler_reserve_full_isl": draw.random() < 0.7,
        "watermark": draw.choice([0.0, 0.0, 0.0, 0.01, 0.1]),
        "prefill_schedule_interval": draw.choice([1, 1, 1, 1, 2, 5]),
        "max_num_active_seqs": draw.choice([None, None, None, max(1, max_num_seqs // 2)]),
        "async_scheduling": draw.random() < 0.5,
        "preemption_mode": draw.choice(["recompute"] * 4 + ["swap"]),
        "num_cpu_blocks": draw.choice([0, need, 10 * need]),
        "batching": draw.choice(["continuous"] * 8 + ["static"]),
        "victim": draw.choice(["vllm"] * 6 + ["last", "least_computed", "most_blocks"]),
        "semantics": draw.choice(["0.33.0"] * 5 + ["before_full_isl"]),
    }


def _load(draw: random.Random, seed: int, max_model_len: int, block_size: int) -> dict[str, Any]:
    classes = draw.choice(["", "", "a:1:10~0.5:10~0.5:0;b:1:30~0.5:30~0.5:2"])
    lengths = [1, 4, 20, max_model_len // 4, max_model_len // 2]
    return {
        "num_requests": draw.choice([1, 2, 5, 20, 60, 120]),
        "seed": seed,
        "arrivals": draw.choice(["steady", "steady", "bursts", "all_at_once", "closed", "ramp_linear"]),
        "rate": draw.choice([0.5, 2.0, 8.0, 50.0, 500.0]),
        "burst_on": 0.5,
        "burst_off": 1.0,
        "concurrency": draw.choice([1, 3, 10, 40]),
        "prompt_mean": draw.choice(lengths),
        "prompt_spread": draw.choice([0.0, 0.5, 1.0]),
        "output_mean": draw.choice(lengths),
        "output_spread": draw.choice([0.0, 0.5, 1.0]),
        "prefix_groups": draw.choice([0, 0, 1, 3]),
        "prefix_len": draw.choice([1, block_size, 3 * block_size + 1, max_model_len // 8 + 1]),
        "step_time": draw.choice(["roofline", "roofline", "constant", "linear", "measured"]),
        "constant_step": draw.choice([0.02, 0.25]),
        "classes": read_value("classes", classes) if classes else (),
    }
