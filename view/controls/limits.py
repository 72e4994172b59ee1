"""Controls of the scheduler and the KV cache."""

from __future__ import annotations

import streamlit as st

from sched.capacity import startup_lines
from view import session
from view.controls.stops import STOPS
from view.controls.widgets import area, number, pick, segment, slide, title, toggle
from view.run import Plan
from view.text import Text

MIXED = "chat_against_batch"
"""A preset whose requests differ in priority."""


def policy(text: Text, planned: Plan) -> None:
    """Order and victim; and that a priority which all share changes nothing."""
    title("policy_title", text)
    segment("policy", text, label=False)
    if planned.scenario.scheduler.policy == "priority" and not planned.workload.has_priorities:
        st.caption(text("controls.same_priority", preset=text(f"presets.{MIXED}.title")))


def limits(text: Text) -> None:
    """What bounds one step, and the pool."""
    title("limits_title", text)
    slide("max_num_batched_tokens", text, STOPS["max_num_batched_tokens"])
    slide("max_num_seqs", text, STOPS["max_num_seqs"])
    if session.place().scenario.setup.pool == "typed_in":
        slide("num_gpu_blocks", text, STOPS["num_gpu_blocks"])
    else:
        slide("gpu_memory_utilization", text, STOPS["gpu_memory_utilization"])
    slide("long_prefill_token_threshold", text, STOPS["long_prefill_token_threshold"])


def scheduler(text: Text) -> None:
    """The scheduler's other settings."""
    toggle("enable_prefix_caching", text)
    toggle("enable_chunked_prefill", text)
    toggle("scheduler_reserve_full_isl", text)
    toggle("async_scheduling", text)
    slide("watermark", text, STOPS["watermark"])
    slide("max_model_len", text, STOPS["max_model_len"])
    toggle("long_prefill_token_threshold_adaptive", text)
    slide("prefill_schedule_interval", text, STOPS["prefill_schedule_interval"])
    number("max_num_active_seqs", text)


def pool(text: Text, planned: Plan) -> None:
    """Where the number of blocks comes from, and what vLLM would say of it."""
    segment("pool", text)
    if session.place().scenario.setup.pool == "hardware":
        slide("tensor_parallel_size", text, STOPS["tensor_parallel_size"])
        slide("pipeline_parallel_size", text, STOPS["pipeline_parallel_size"])
        pick("kv_cache_dtype", text)
        number("kv_cache_memory_bytes", text)
    slide("block_size", text, STOPS["block_size"])
    toggle("check_pool", text)
    cache = planned.cache
    st.caption(
        text("controls.pool_now", blocks=cache.num_gpu_blocks, tokens=cache.num_gpu_blocks * cache.block_size)
        + f" · {text('controls.pool_words')}"
    )
    lines = startup_lines(cache.num_gpu_blocks, cache.block_size, planned.scenario.scheduler.max_model_len)
    st.code("\n".join(lines), language=None, wrap_lines=True)


def hardware(text: Text) -> None:
    """GPU, model, and how a step's time is known."""
    pick("gpu", text)
    pick("model", text)
    pick("step_time", text)
    kind = session.place().scenario.hardware.step_time
    if kind == "measured":
        from sched.step_time import PROFILES

        pick("profile", text, tuple(PROFILES))
    if kind == "linear":
        for name in ("linear_step", "linear_prefill_token", "linear_decode", "linear_context"):
            number(name, text, step=1e-6)
    if kind == "constant":
        number("constant_step", text, step=0.001)
    number("host_overhead", text, step=0.0005)
    area("model_config", text, str, str)


def what_ifs(text: Text) -> None:
    """Switches that vLLM 0.33.0 does not have."""
    segment("semantics", text)
    segment("preemption_mode", text)
    if session.place().scenario.scheduler.preemption_mode == "swap":
        number("num_cpu_blocks", text)
    segment("batching", text)
    pick("victim", text)


def targets(text: Text) -> None:
    """What counts as good service."""
    for name in ("slo_ttft", "slo_tpot", "slo_itl", "slo_e2e"):
        number(name, text, step=0.05)
