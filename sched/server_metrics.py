"""What a server's /metrics page tells of its settings and its load, in Prometheus' text format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER = r"[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?"
SAMPLE = re.compile(rf"^vllm:(?P<name>\w+)(?:\{{(?P<labels>[^\n}}]*)\}})? (?P<value>{NUMBER})", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
LENGTHS = {"prompt_mean": "request_prompt_tokens", "output_mean": "request_generation_tokens"}


@dataclass(frozen=True, slots=True)
class Metrics:
    """What was found.

    Attributes:
        lines: of vLLM's metrics.
        settings: the pool and the block size.
        load: mean lengths; a single look at the counters does not tell how many requests come in a second.
        waiting: whether requests waited at that moment.
    """

    lines: int
    settings: Mapping[str, Any]
    load: Mapping[str, Any]
    waiting: bool


def read_metrics(text: str) -> Metrics:
    """Read all lines that begin with vllm:; of several engines the counters are added up."""
    sums: dict[str, float] = {}
    settings: dict[str, Any] = {}
    lines = 0
    for match in SAMPLE.finditer(text):
        lines += 1
        if match["name"] == "cache_config_info":
            settings = _pool(dict(LABEL.findall(match["labels"] or "")))
        sums[match["name"]] = sums.get(match["name"], 0.0) + float(match["value"])
    load: dict[str, Any] = {}
    for name, metric in LENGTHS.items():
        count = sums.get(f"{metric}_count", 0.0)
        if count >= 1:
            load[name] = max(round(sums.get(f"{metric}_sum", 0.0) / count), 1)
    if load:
        load |= {"source": "synthetic", "classes": (), **dict.fromkeys(_spreads(load), "uniform")}
    return Metrics(lines, settings, load, sums.get("num_requests_waiting", 0.0) > 0)


def _spreads(load: Mapping[str, Any]) -> list[str]:
    return [name.replace("_mean", "_distribution") for name in load]


def _pool(labels: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if re.fullmatch(r"\d{1,9}", labels.get("num_gpu_blocks", "")):
        settings = {"pool": "typed_in", "num_gpu_blocks": int(labels["num_gpu_blocks"])}
    if re.fullmatch(r"\d{1,4}", labels.get("block_size", "")):
        settings["block_size"] = int(labels["block_size"])
    if labels.get("enable_prefix_caching") in ("True", "False"):
        settings["enable_prefix_caching"] = labels["enable_prefix_caching"] == "True"
    return settings
