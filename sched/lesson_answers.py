"""Which option of a lesson's question is right? Read off its facts, so that an answer can never be merely typed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sched.lessons import Lesson
from sched.reasons import StopReason

Facts = Mapping[str, Any]
LIMIT = {StopReason.BUDGET: "budget", StopReason.MAX_NUM_SEQS: "seats"}


def answer(lesson: Lesson, found: Facts) -> str:
    """The right option, from the facts of the lesson's runs."""
    chosen = ANSWERS[lesson.name](found)
    assert chosen in lesson.options, f"{lesson.name}: {chosen} is no option"
    return chosen


def _two_limits(found: Facts) -> str:
    return LIMIT.get(StopReason(found["blocks_reason"]), "blocks")


def _queues(found: Facts) -> str:
    return "front" if found["preempt_place"] == 1 else "back"


def _preemption(found: Facts) -> str:
    if "preempt_victim" not in found:
        return "nobody"
    return "last" if found["preempt_from_end"] == 0 else "first"


def _hidden_cost(found: Facts) -> str:
    ratio = found["stall_ratio"]
    return "twice" if ratio < 3 else "six" if ratio < 12 else "twenty"


def _recompute(found: Facts) -> str:
    if not found["resume_again"]:
        return "nothing"
    return "all" if found["resume_again"] >= found["preempt_lost"] else "answer"


def _policy(found: Facts) -> str:
    return str(found.get("preempt_kind", "nobody"))


def _remedies(found: Facts) -> str:
    ratio = found["seqs_throughput"] / found["throughput"]
    return "up" if ratio > 1.01 else "down" if ratio < 0.99 else "same"


def _collapse(found: Facts) -> str:
    ratio = found["heavy_throughput"] / found["light_throughput"]
    return "double" if ratio > 1.5 else "little" if ratio > 0.9 else "half"


def _batching(found: Facts) -> str:
    if "next_step" not in found:
        return "never"
    return "next_step" if found["next_step"] == found["seat_step"] else "batch_end"


def _prefix(found: Facts) -> str:
    if found["many_unfinished"]:
        return "errors"
    return "preemptions" if found["many_preemptions"] else "hits"


ANSWERS: Mapping[str, Callable[[Facts], str]] = MappingProxyType(
    {
        "two_limits": _two_limits, "queues": _queues, "preemption": _preemption, "hidden_cost": _hidden_cost,
        "recompute": _recompute, "policy": _policy, "remedies": _remedies, "collapse": _collapse,
        "batching": _batching, "prefix": _prefix,
    }
)  # fmt: skip
