"""What load to simulate: the settings of a workload, and what each of them may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sched.config import check_fields, choice, real, whole
from sched.errors import InputError, span
from sched.lengths import DISTRIBUTIONS, LARGEST_P99_RATIO
from sched.load_text import ROW_FORM, format_classes, format_rows, split_classes, split_rows

SOURCES = ("synthetic", "table", "trace")
ARRIVALS = ("steady", "bursts", "ramp_linear", "ramp_exponential", "all_at_once", "closed")

MAX_REQUESTS = 20_000
"""Most requests of one run [requests]; a longer trace is cut, with a note."""
MAX_TOKENS = 10_485_760
"""Longest prompt and longest answer that are drawn or read [tokens]."""
MAX_SECONDS = 1_000_000_000.0
"""Latest arrival in a table or window [s]."""


def distribution(default: str) -> Any:
    """Which distribution a length has: fixed, uniform (mean +- spread) or lognormal (mean, p99)."""
    return choice(default, tuple(DISTRIBUTIONS))


def tokens(default: int) -> Any:
    """A length [tokens]."""
    return whole(default, 1, MAX_TOKENS, "tokens")


def written(read: Callable[[str], Any], write: Callable[[Any], str]) -> Any:
    """A list with a short text form, for links and `--set`; `read` raises InputError."""
    return dataclasses.field(default=(), metadata={"read": read, "write": write})


class TableRow(NamedTuple):
    """One hand-made request: arrival [s], prompt and output lengths [tokens], priority (lower is more urgent)."""

    arrival: float
    prompt: int
    output: int
    priority: int = 0


@dataclass(frozen=True, slots=True)
class RequestClass:
    """One class of a mixture, such as chat or batch.

    Attributes:
        name: what pictures call it; at most 40 characters, none of them a colon or semicolon.
        share: its part of the requests, relative to the other classes' shares.
        The rest: as in LoadConfig.
    """

    name: str = ""
    share: float = real(1.0, 0.0, 1e6, "parts")
    prompt_distribution: str = distribution("uniform")
    prompt_mean: int = tokens(512)
    prompt_spread: float = real(0.5, 0.0, 1.0, "of the mean")
    prompt_p99: int = tokens(2048)
    output_distribution: str = distribution("uniform")
    output_mean: int = tokens(512)
    output_spread: float = real(0.5, 0.0, 1.0, "of the mean")
    output_p99: int = tokens(2048)
    priority: int = whole(0, -1000, 1000, "(lower is more urgent)")

    def __post_init__(self) -> None:
        check_fields(self)
        check_p99(self)
        if len(self.name) > 40 or set(self.name) & set(":;"):
            limit = "at most 40 characters without : and ;"
            raise InputError("out_of_range", field="name", value=self.name, limit=limit)


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """Which requests arrive, and when.

    Attributes:
        source: where the requests come from: drawn from a seed, the hand-made `rows`, or a `trace`.
        seed: of all random streams; each purpose has its own, so that no setting reshuffles another's draws.
        num_requests: how many are drawn; more only appends (but stretches a ramp). Synthetic only.
        arrivals: steady (gamma gaps), bursts (on and off in turn), ramp_linear or ramp_exponential (from rate to
            ramp_end_rate), all_at_once, or closed (concurrency requests at once, the next is sent when one finishes).
            For a table or a trace, which have their own times, only closed counts.
        rate: mean arrival rate; with bursts, the mean over on and off.
        burstiness: shape of the gamma gaps; 1 = Poisson, below 1 bursty, above 1 regular.
        burst_on, burst_off: how long requests arrive and how long none do.
        prompt_*, output_*: the lengths: distribution, mean, spread (uniform, +- part of the mean), p99 (lognormal).
        classes: a mixture; if there are any, they stand in for prompt_*, output_* and priority. Synthetic only.
        prefix_groups, prefix_len: each prompt starts with one of so many shared prefixes of so many tokens, which come
            on top of its own length; 0 groups = none.
            Source: vllm/benchmarks/datasets (0.33.0), random prefix length.
        rows: the hand-made table.
        trace: name of a bundled trace (see bundled_traces); a file is read by its owner and passed in.
        trace_start, trace_duration: window in the trace's time; duration 0 = to the end.
        trace_skip_rows, trace_max_rows: window by rows, within the window by time; max 0 = all (up to MAX_REQUESTS).
        trace_rate_scale: arrivals come this many times as fast.
    """

    source: str = choice("synthetic", SOURCES)
    seed: int = whole(0, 0, 2**53 - 1)
    num_requests: int = whole(300, 1, MAX_REQUESTS, "requests", "--num-prompts")
    arrivals: str = choice("steady", ARRIVALS)
    rate: float = real(6.0, 0.001, 10_000.0, "requests/s", "--request-rate")
    burstiness: float = real(1.0, 0.01, 1000.0, "(gamma shape)", "--burstiness")
    burst_on: float = real(5.0, 0.01, 86_400.0, "s")
    burst_off: float = real(15.0, 0.0, 86_400.0, "s")
    ramp_end_rate: float = real(12.0, 0.001, 10_000.0, "requests/s", "--ramp-up-end-rps")
    concurrency: int = whole(64, 1, 65_536, "requests", "--max-concurrency")
    prompt_distribution: str = distribution("uniform")
    prompt_mean: int = tokens(512)
    prompt_spread: float = real(0.5, 0.0, 1.0, "of the mean")
    prompt_p99: int = tokens(2048)
    output_distribution: str = distribution("uniform")
    output_mean: int = tokens(512)
    output_spread: float = real(0.5, 0.0, 1.0, "of the mean")
    output_p99: int = tokens(2048)
    priority: int = whole(0, -1000, 1000, "(lower is more urgent)")
    classes: tuple[RequestClass, ...] = written(lambda text: read_classes(text), lambda value: format_classes(value))
    prefix_groups: int = whole(0, 0, 10_000, "groups")
    prefix_len: int = whole(0, 0, MAX_TOKENS, "tokens")
    rows: tuple[TableRow, ...] = written(lambda text: read_rows(text), lambda value: format_rows(value))
    trace: str = "azure_conv_2023"
    trace_start: float = real(0.0, 0.0, MAX_SECONDS, "s")
    trace_duration: float = real(0.0, 0.0, MAX_SECONDS, "s (0 = to the end)")
    trace_skip_rows: int = whole(0, 0, 1_000_000, "rows")
    trace_max_rows: int = whole(0, 0, MAX_REQUESTS, "rows (0 = all)")
    trace_rate_scale: float = real(1.0, 0.001, 1000.0, "times as fast")

    def __post_init__(self) -> None:
        check_fields(self)
        check_p99(self)
        if self.classes and not any(one.share for one in self.classes):
            raise InputError("out_of_range", field="classes", value="all shares 0", limit="more than 0 in one share")
        if len(self.rows) > MAX_REQUESTS:
            raise InputError("out_of_range", field="rows", value=len(self.rows), limit=f"at most {MAX_REQUESTS:,} rows")
        for number, row in enumerate(self.rows, start=1):
            check_row(number, row)

    def request_classes(self) -> tuple[RequestClass, ...]:
        """The classes requests are drawn from: `classes`, or one without a name made of the plain fields."""
        names = [spec.name for spec in dataclasses.fields(RequestClass) if spec.name not in ("name", "share")]
        return self.classes or (RequestClass(**{name: getattr(self, name) for name in names}),)


def check_p99(config: LoadConfig | RequestClass) -> None:
    """Refuse a p99 that no lognormal of this mean has; only where the lognormal is chosen."""
    for side in ("prompt", "output"):
        if getattr(config, f"{side}_distribution") == "lognormal":
            mean, p99 = getattr(config, f"{side}_mean"), getattr(config, f"{side}_p99")
            highest = int(mean * LARGEST_P99_RATIO)
            if not mean <= p99 <= highest:
                raise InputError("p99_out_of_reach", field=f"{side}_p99", value=p99, limit=span(mean, highest))


def check_row(number: int, row: TableRow | tuple[float, int, int, int]) -> None:
    """Check one hand-made row. Raises InputError naming the row (counted from 1), its field, value and limit."""
    if len(row) != 4:
        raise InputError("bad_text", field=f"row {number}", value=row, limit=ROW_FORM)
    arrival, prompt, output, priority = row
    spans = (("arrival", arrival, 0.0, MAX_SECONDS, "s"), ("prompt", prompt, 1, MAX_TOKENS, "tokens"),
             ("output", output, 1, MAX_TOKENS, "tokens"), ("priority", priority, -1000, 1000, ""))  # fmt: skip
    for name, value, low, high, unit in spans:
        limit, where = span(low, high, unit), f"row {number}"
        kinds = int | float if name == "arrival" else int
        if isinstance(value, bool) or not isinstance(value, kinds):
            code = "not_a_number" if name == "arrival" else "not_a_whole_number"
            raise InputError(code, field=name, value=value, limit=limit, where=where)
        if not low <= value <= high:
            raise InputError("out_of_range", field=name, value=value, limit=limit, where=where)


def read_classes(text: str) -> tuple[RequestClass, ...]:
    """The classes written as `chat:3:200~0.5:100~0.5:0;batch:1:2000p8000:500:1`; see load_text."""
    return tuple(RequestClass(**fields) for fields in split_classes(text))


def read_rows(text: str) -> tuple[TableRow, ...]:
    """The table written as `0,34,35;0.5,34,35,1`: arrival, prompt, output and, if wanted, priority."""
    return tuple(TableRow(*row) for row in split_rows(text))
