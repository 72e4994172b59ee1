"""Settings out of range, of the wrong kind, or at odds with each other: the error names field, value and limit."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from sched.config import CacheConfig, SchedulerConfig, check_pool
from sched.errors import MESSAGES, InputError

BAD = [
    ({"max_num_seqs": 0}, "max_num_seqs", "0", "1 to 65,536 requests"),
    ({"max_num_batched_tokens": -5}, "max_num_batched_tokens", "-5", "1 to 1,048,576 tokens"),
    ({"max_num_batched_tokens": 2048.5}, "max_num_batched_tokens", "2048.5", "1 to 1,048,576 tokens"),
    ({"max_model_len": 10**30}, "max_model_len", str(10**30), "1 to 10,485,760 tokens"),
    ({"max_model_len": "long"}, "max_model_len", '"long" (a text)', "1 to 10,485,760 tokens"),
    ({"max_num_seqs": True}, "max_num_seqs", "true", "1 to 65,536 requests"),
    ({"max_num_seqs": None}, "max_num_seqs", "null", "1 to 65,536 requests"),
    ({"watermark": math.nan}, "watermark", "nan", "0 to 0.999 of all blocks"),
    ({"watermark": math.inf}, "watermark", "inf", "0 to 0.999 of all blocks"),
    ({"policy": "lifo"}, "policy", "lifo", "fcfs, priority"),
    ({"policy": ["fcfs"]}, "policy", "a list", "fcfs, priority"),
    ({"async_scheduling": "yes"}, "async_scheduling", '"yes" (a text)', "true or false"),
    ({"async_scheduling": 1}, "async_scheduling", "1", "true or false"),
    ({"max_num_batched_tokens": 100}, "max_num_batched_tokens", "100", "256"),
    ({"enable_chunked_prefill": False}, "max_num_batched_tokens", "2048", "8,192"),
    ({"max_num_active_seqs": 300}, "max_num_active_seqs", "300", "256"),
    ({"long_prefill_token_threshold": 9000}, "long_prefill_token_threshold", "9000", "8,192"),
    ({"block_size": 0}, "block_size", "0", "1 to 4,096 tokens"),
    ({"num_gpu_blocks": 1}, "num_gpu_blocks", "1", "2 to 4,194,304 blocks"),
]


@pytest.mark.parametrize(("values", "field", "value", "limit"), BAD)
def test_a_bad_setting_is_named_with_its_value_and_its_limit(
    values: dict[str, Any], field: str, value: str, limit: str
) -> None:
    names = {spec.name for spec in dataclasses.fields(SchedulerConfig)}
    with pytest.raises(InputError) as caught:
        (SchedulerConfig if values.keys() <= names else CacheConfig)(**values)
    message = str(caught.value)
    assert message.startswith(f"{field} = {value}")
    assert limit in message


def test_max_num_active_seqs_may_be_none() -> None:
    assert SchedulerConfig(max_num_active_seqs=None).max_num_running == 256
    assert SchedulerConfig(max_num_active_seqs=7).max_num_running == 7


def test_a_pool_that_cannot_hold_one_longest_request_is_refused_with_the_length_that_fits() -> None:
    check_pool(SchedulerConfig(max_model_len=144), CacheConfig(num_gpu_blocks=10))
    with pytest.raises(InputError, match="set max_model_len to at most 144"):
        check_pool(SchedulerConfig(max_model_len=145), CacheConfig(num_gpu_blocks=10))


def test_the_defaults_are_those_of_vllm_on_a_gpu_of_less_than_70_gib() -> None:
    config, cache = SchedulerConfig(), CacheConfig()
    assert (config.max_num_batched_tokens, config.max_num_seqs, cache.block_size) == (2048, 256, 16)
    assert config.policy == "fcfs"
    assert config.enable_chunked_prefill and config.scheduler_reserve_full_isl and config.async_scheduling
    assert (config.watermark, cache.enable_prefix_caching) == (0.0, True)


@pytest.mark.parametrize("code", MESSAGES)
def test_every_message_is_one_line_that_can_be_filled_in(code: str) -> None:
    message = str(InputError(code, field="FIELD", value="VALUE", limit="LIMIT", where="WHERE"))
    assert "\n" not in message and "{" not in message
