"""Random cases that crowd the rules: small pools, ties, and settings that get into each other's way.

Each seed is of one theme, in turn; a theme bends a plain random case towards one group of rules. Standard library only,
so that the tests can use the same cases without vLLM.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Settings = dict[str, Any]
Rows = list[dict[str, Any]]
MAX_STEPS = 1500  # without full-ISL, requests may throw each other out for ever


def random_case(seed: int) -> dict[str, Any]:
    """The case of a seed: its theme by turns, all else drawn."""
    rng = random.Random(seed)
    name, bend = list(THEMES.items())[seed % len(THEMES)]
    settings = plain_settings(rng)
    shape = {"count": rng.choice([2, 3, 5, 8, 13, 21, 34]), "gap": rng.choice([0, 0, 1, 3, 8]), "prompt_share": 0.4}
    bend(rng, settings, shape)
    rows = requests(rng, settings, shape)
    fit_pool(rng, settings, rows, shape.get("spare", (0.0, 0.0, 0.1, 0.3, 1.0, 2.5)))
    return {"name": f"{name}, seed {seed}", "max_steps": MAX_STEPS, "config": settings, "requests": rows}


def plain_settings(rng: random.Random) -> Settings:
    """Settings before a theme bends them. num_gpu_blocks is set last, by fit_pool."""
    model_len = rng.choice([24, 48, 96, 192, 384])
    seqs = rng.choice([1, 2, 3, 5, 8, 16, 64])
    return {
        "max_model_len": model_len,
        "max_num_seqs": seqs,
        "max_num_batched_tokens": max(seqs, rng.choice([4, 9, 16, 33, 64, 100, 256, 1024])),
        "block_size": rng.choice([1, 2, 3, 4, 8, 16]),
        "policy": rng.choice(["fcfs", "priority"]),
        "enable_prefix_caching": rng.random() < 0.5,
        "async_scheduling": rng.random() < 0.5,
        "scheduler_reserve_full_isl": rng.random() < 0.5,
        "watermark": rng.choice([0.0, 0.0, 0.0, 0.02, 0.2]),
    }


def requests(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> Rows:
    """Requests as the shape wants them: how many, how close together, how long, with which priorities."""
    model_len, rows, step = settings["max_model_len"], [], 0
    tree = PrefixTree(rng, shape["tree"]) if "tree" in shape else None
    for place in range(shape["count"]):
        step += int(rng.expovariate(1 / shape["gap"])) if shape["gap"] else 0
        if rng.random() < shape.get("burst", 0.0):
            step += rng.randint(5, 40)
        longest = model_len - 1 if rng.random() < 0.2 else max(1, int((model_len - 1) * shape["prompt_share"]))
        prompt = rng.randint(1, longest)
        output = rng.randint(1, max(1, min(model_len - prompt, shape.get("max_output", model_len // 2))))
        if rng.random() < shape.get("overlong", 0.05):
            output = model_len - prompt + rng.randint(0, 9)  # ends at max_model_len, not at max_tokens
        row = {"id": f"r{place}", "arrival_step": step, "prompt": prompt, "output": output}
        if settings["policy"] == "priority":
            row["priority"] = rng.choice(shape.get("priorities", [0, 0, 1, 2, -1]))
        if tree is not None:
            row |= {"hash_size": tree.size, "hash_ids": tree.path(prompt)}
        elif settings["enable_prefix_caching"] and rng.random() < shape.get("sharing", 0.5):
            row |= {"prefix_group": rng.randrange(shape.get("groups", 3)), "prefix_len": rng.randint(1, prompt)}
        rows.append(row)
    if shape.get("unsorted"):
        rng.shuffle(rows)
    return rows


class PrefixTree:
    """Prompts as paths from a root: a chunk's id stands for the chunk and all before it."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.children: dict[int, list[int]] = {-1: []}

    def path(self, prompt: int) -> list[int]:
        """A path long enough for a prompt, or a bit too short: what is left is the request's own text."""
        at, ids = -1, []
        for _ in range(max(0, -(-prompt // self.size) - self.rng.choice([0, 0, 1]))):
            if not self.children[at] or self.rng.random() < 0.15:
                new = len(self.children)
                self.children[at].append(new)
                self.children[new] = []
            at = self.rng.choice(self.children[at])
            ids.append(at)
        return ids


def fit_pool(rng: random.Random, settings: Settings, rows: Rows, spare: tuple[float, ...]) -> None:
    """A pool in which the largest request just fits, and by chance some more. A last token needs no slot."""
    lengths = [min(row["prompt"] + row["output"], settings["max_model_len"]) - 1 for row in rows]
    need = max(1, *(-(-length // settings["block_size"]) for length in lengths))
    settings["num_gpu_blocks"] = 1 + need + int(need * rng.choice(spare)) + rng.choice([0, 0, 1, 2])


def tiny_pool(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Everybody fights for the blocks of one."""
    settings |= {"max_model_len": rng.choice([8, 12, 24]), "block_size": rng.choice([1, 2, 3, 4])}
    shape |= {"spare": (0.0, 0.2, 0.5), "prompt_share": 0.7}


def block_size_one(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """A block a token: with a prefix cache, a full hit leaves exactly one token."""
    settings |= {"block_size": 1, "max_model_len": rng.choice([16, 40, 80])}
    shape |= {"spare": (0.0, 0.3, 1.0), "sharing": 0.8, "groups": 2}


def equal_priorities(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Ties, and a preempted request that loses its place to an equal."""
    settings["policy"] = "priority"
    shape |= {"priorities": rng.choice([[0], [-3, -3, -2], [5, 5, -5], [0, 1]]), "spare": (0.0, 0.3, 1.0)}
    shape["unsorted"] = True


def model_length(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Requests that run into max_model_len."""
    shape |= {"overlong": 0.8, "prompt_share": 0.8}


def adaptive_threshold(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Chunks limited by a threshold that moves with the number of requests."""
    settings |= {
        "long_prefill_token_threshold": rng.choice([1, 2, 5, 16, 24]),
        "long_prefill_token_threshold_adaptive": rng.random() < 0.7,
    }
    shape |= {"prompt_share": 0.9, "max_output": 30}


def prefill_interval(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Held prefills, with victims among those held."""
    settings |= {
        "prefill_schedule_interval": rng.choice([2, 3, 4, 7, 20]),
        "long_prefill_token_threshold": rng.choice([0, 0, 3, 10]),
    }
    shape |= {"spare": (0.0, 0.1, 0.4, 1.0), "gap": rng.choice([1, 4, 9]), "prompt_share": 0.6}


def active_limit(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Admission stops below max_num_seqs."""
    settings["max_num_active_seqs"] = rng.randint(1, settings["max_num_seqs"])


def overlapping_prefixes(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """One or two groups only: a victim's blocks are others' blocks too."""
    settings["enable_prefix_caching"] = True
    shape |= {"sharing": 0.95, "groups": rng.choice([1, 2]), "spare": (0.0, 0.2, 0.6), "prompt_share": 0.9}


def prefix_tree(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Prompts that share a path, in chunks that are no multiple of a block."""
    settings["enable_prefix_caching"] = True
    shape |= {"tree": rng.choice([1, 3, 5, 8, 16, 20]), "prompt_share": 0.9, "spare": (0.0, 0.3, 1.0, 3.0)}


def token_in_flight(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Async scheduling with short answers: victims whose last token is on its way."""
    settings |= {"async_scheduling": True, "block_size": rng.choice([1, 2, 3])}
    shape |= {"max_output": rng.choice([1, 2, 3, 6]), "spare": (0.0, 0.2, 0.5), "count": rng.choice([13, 34])}


def whole_prompts(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Chunked prefill off: a prompt goes in whole or waits."""
    settings["enable_chunked_prefill"] = False
    settings["max_num_batched_tokens"] = max(settings["max_num_seqs"], settings["max_model_len"] + rng.choice([0, 7]))
    shape |= {"prompt_share": 0.9}


def high_watermark(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Blocks that admissions must leave free, from nearly none to nearly all."""
    settings["watermark"] = rng.choice([0.001, 0.05, 0.3, 0.7, 0.95])
    shape |= {"spare": (0.0, 0.5, 2.0, 5.0)}


def no_full_isl(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """First chunks that fit where the whole does not."""
    settings |= {"scheduler_reserve_full_isl": False, "max_num_batched_tokens": max(settings["max_num_seqs"], 12)}
    shape |= {"prompt_share": 0.95, "spare": (0.0, 0.1, 0.5)}


def scarce_budget(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """A budget of one token a slot: a prefill before them leaves the decodes nothing."""
    settings["max_num_batched_tokens"] = settings["max_num_seqs"]
    shape |= {"count": rng.choice([13, 34, 55]), "prompt_share": 0.7, "max_output": 20}


def bursts(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Nobody for a while, then many at once, listed in any order."""
    shape |= {"burst": 0.1, "gap": 0, "count": 55, "unsorted": rng.random() < 0.5, "max_output": 25}


def crowd(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Hundreds of short requests."""
    settings |= {"max_model_len": 48, "max_num_seqs": 64, "max_num_batched_tokens": rng.choice([64, 200, 1000])}
    shape |= {"count": rng.choice([150, 300]), "gap": rng.choice([0, 1]), "max_output": 12, "spare": (3.0, 8.0, 20.0)}


def everything(rng: random.Random, settings: Settings, shape: dict[str, Any]) -> None:
    """Several themes on one case."""
    for bend in rng.sample([bend for bend in THEMES.values() if bend not in (everything, crowd)], 3):
        bend(rng, settings, shape)
    settings["max_num_seqs"] = min(settings["max_num_seqs"], settings["max_num_batched_tokens"])
    if "max_num_active_seqs" in settings:
        settings["max_num_active_seqs"] = min(settings["max_num_active_seqs"], settings["max_num_seqs"])
    if not settings.get("enable_chunked_prefill", True):
        floor = max(settings["max_model_len"], settings["max_num_seqs"])
        settings["max_num_batched_tokens"] = max(settings["max_num_batched_tokens"], floor)
    if "long_prefill_token_threshold" in settings:
        limit = settings["max_model_len"]
        settings["long_prefill_token_threshold"] = min(settings["long_prefill_token_threshold"], limit)


Bend = Callable[[random.Random, Settings, dict[str, Any]], None]
THEMES: dict[str, Bend] = {
    "tiny pool": tiny_pool,
    "block size one": block_size_one,
    "equal priorities": equal_priorities,
    "model length": model_length,
    "adaptive threshold": adaptive_threshold,
    "prefill interval": prefill_interval,
    "active limit": active_limit,
    "overlapping prefixes": overlapping_prefixes,
    "prefix tree": prefix_tree,
    "token in flight": token_in_flight,
    "whole prompts": whole_prompts,
    "high watermark": high_watermark,
    "no full-ISL": no_full_isl,
    "scarce budget": scarce_budget,
    "bursts": bursts,
    "crowd": crowd,
    "everything": everything,
}
