"""What vLLM's API server notes of single requests: first tokens, and the account of a finished one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sched.server_stats import Longs, first_cached_tokens, first_token_steps
from sched.timeline import Floats, Timeline


@dataclass(frozen=True, slots=True)
class FirstTokens:
    """One row each request that got a token: when the first appeared, and how long after the arrival [s]."""

    at: Floats
    latency: Floats


def first_tokens(timeline: Timeline) -> FirstTokens:
    """When first tokens appeared."""
    first = first_token_steps(timeline)
    got = np.flatnonzero(first >= 0)
    at = timeline.steps.end[first[got]]
    return FirstTokens(at, at - timeline.requests.arrival[got])


@dataclass(frozen=True, slots=True)
class FinishedStats:
    """One row each finished request (FinishedRequestStats), in the order of the workload.

    Attributes:
        at, e2e: when its last token appeared, and how long after its arrival [s].
        queued: from when schedule() could first see it until it was first admitted [s].
        prefill, decode, inference: from there to the first token, from that to the last, and both [s]; waits and
            recomputes after preemptions are in them.
        time_per_output_token: decode / (generated - 1), 0 for a single token [s].
        prompt, cached, generated, max_tokens: [tokens].
        preemptions: how often it was thrown out.
    """

    at: Floats
    e2e: Floats
    queued: Floats
    prefill: Floats
    decode: Floats
    inference: Floats
    time_per_output_token: Floats
    prompt: Longs
    cached: Longs
    generated: Longs
    max_tokens: Longs
    preemptions: Longs


def finished_stats(timeline: Timeline, now: float) -> FinishedStats:
    """What the server noted of the requests that had finished at a moment [s].

    Source: update_from_finished_request() in vllm/v1/metrics/stats.py (0.33.0). Its queue time starts when the engine
    takes the request in, at the next schedule(): the wait for the step in progress is not in it.
    """
    requests, steps, tokens = timeline.requests, timeline.steps, timeline.tokens
    size = len(requests.spec)
    last_step = np.full(size, -1, np.int64)
    last_step[tokens.request] = tokens.first + tokens.count - 1
    who = np.flatnonzero((requests.finished_step >= 0) & (last_step >= 0))
    who = who[steps.end[last_step[who]] <= now]
    admitted_step = np.zeros(size, np.int64)
    new = timeline.admissions.resumed == 0
    admitted_step[timeline.admissions.request[new]] = timeline.admissions.step[new]
    at, first = steps.end[last_step[who]], steps.end[first_token_steps(timeline)[who]]
    queued, admitted = steps.scheduled_at[requests.arrived_step[who]], steps.scheduled_at[admitted_step[who]]
    generated = np.bincount(tokens.request, tokens.count, minlength=size).astype(np.int64)[who]
    specs = [requests.spec[index] for index in who.tolist()]
    return FinishedStats(
        at, at - requests.arrival[who], admitted - queued, first - admitted, at - first, at - admitted,
        np.where(generated > 1, (at - first) / np.maximum(generated - 1, 1), 0.0),
        np.array([spec.num_prompt_tokens for spec in specs], np.int64), first_cached_tokens(timeline)[who], generated,
        np.array([spec.max_tokens for spec in specs], np.int64),
        np.bincount(timeline.preemptions.request, minlength=size)[who].astype(np.int64),
    )  # fmt: skip
