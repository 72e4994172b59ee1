"""The requests of a run: drawn from a seed, made by hand, or read from a trace."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sched.arrivals import arrival_times
from sched.bundled import read_bundled
from sched.draws import uniforms
from sched.errors import InputError
from sched.lengths import DISTRIBUTIONS, Quantile
from sched.load import LoadConfig, RequestClass, TableRow
from sched.notes import Note
from sched.request import RequestSpec
from sched.traces import Trace, select, to_requests

__all__ = ["LoadConfig", "Note", "RequestClass", "TableRow", "Workload", "make_workload"]


@dataclass(frozen=True, slots=True)
class Workload:
    """The requests of a run.

    Attributes:
        requests: sorted by arrival [s]; equal arrivals keep their order. In a closed loop all arrivals are 0.
        concurrency: closed loop: how many are sent at once, each next one when one finishes, in the order of
            `requests`; None = open loop, each is sent at its arrival.
        label: a short name.
        source: one sentence: where the requests come from, with the attribution a public trace asks for.
        notes: what was cut, left out or put in order.
    """

    requests: tuple[RequestSpec, ...]
    concurrency: int | None
    label: str
    source: str
    notes: tuple[Note, ...] = ()

    @property
    def has_priorities(self) -> bool:
        """Whether requests differ in priority. If not, the policy "priority" goes by arrival, as fcfs does."""
        return len({request.priority for request in self.requests}) > 1


def make_workload(load: LoadConfig, max_model_len: int, trace: Trace | None = None) -> Workload:
    """The requests that `load` describes, cut to fit max_model_len [tokens].

    Args:
        load: the settings.
        max_model_len: most tokens of a prompt and its answer, >= 2.
        trace: a trace that was read already (an upload, a file, a cached one); without it, source = trace reads the
            bundled trace named in `load`. A name in a link can so never open a file.

    Raises InputError for a max_model_len below 2, an unknown trace, a window with nothing in it, an empty table.
    """
    if max_model_len < 2:
        raise InputError("out_of_range", field="max_model_len", value=max_model_len, limit="at least 2 tokens")
    specs, label, source, notes = MAKERS[load.source](load, trace)
    concurrency = load.concurrency if load.arrivals == "closed" else None
    if concurrency is not None:
        specs = [replace(spec, arrival=0.0) if spec.arrival else spec for spec in specs]
    fitted, cuts = fit(specs, max_model_len)
    return Workload(tuple(fitted), concurrency, label, source, (*notes, *cuts))


Made = tuple[list[RequestSpec], str, str, tuple[Note, ...]]


def synthetic(load: LoadConfig, trace: Trace | None = None) -> Made:
    """Requests drawn from the seed."""
    specs = draw_requests(load, arrival_times(load))
    return specs, "synthetic", f"Synthetic: {len(specs):,} requests drawn from seed {load.seed}.", ()


def table(load: LoadConfig, trace: Trace | None = None) -> Made:
    """The hand-made rows, sorted by arrival."""
    if not load.rows:
        raise InputError("no_requests", where="rows", value="the table is empty", limit="give at least one row")
    rows = sorted(load.rows, key=lambda row: row[0])
    return [RequestSpec(*row) for row in rows], "table", f"Hand-made: {len(rows):,} requests.", ()


def from_trace(load: LoadConfig, trace: Trace | None = None) -> Made:
    """The window of a trace; lengths are drawn where the trace has none."""
    trace = trace or read_bundled(load.trace, load.seed)
    rows, cuts = select(trace, load)
    notes = (*trace.notes, *cuts)
    if trace.has_lengths:
        return to_requests(rows, trace.hash_size), trace.name, trace.source, notes
    specs = draw_requests(load, [row.arrival for row in rows])
    return specs, trace.name, trace.source, (*notes, Note("lengths_drawn", len(specs)))


MAKERS = {"synthetic": synthetic, "table": table, "trace": from_trace}


def draw_requests(load: LoadConfig, arrivals: Sequence[float]) -> list[RequestSpec]:
    """One request for each arrival: its class, lengths and prefix, each from a stream of its own."""
    count, classes = len(arrivals), load.request_classes()
    quantiles = [(_quantile(one, "prompt"), _quantile(one, "output")) for one in classes]
    picked = _pick_classes(load.seed, classes, count)
    prompts = uniforms(load.seed, "prompt lengths", count)
    outputs = uniforms(load.seed, "output lengths", count)
    prefixes = _pick_prefixes(load, count)
    shared = load.prefix_len if prefixes[0] is not None else 0
    specs = []
    for arrival, which, u, v, group in zip(arrivals, picked, prompts, outputs, prefixes, strict=True):
        (prompt, output), one = quantiles[which], classes[which]
        specs.append(RequestSpec(arrival, shared + prompt(u), output(v), one.priority, group, shared, kind=one.name))
    return specs


def _quantile(one: RequestClass, side: str) -> Quantile:
    kind, *numbers = (getattr(one, f"{side}_{name}") for name in ("distribution", "mean", "spread", "p99"))
    return DISTRIBUTIONS[kind](*numbers)


def _pick_classes(seed: int, classes: tuple[RequestClass, ...], count: int) -> list[int]:
    """The class of each request, by share."""
    if len(classes) == 1:
        return [0] * count
    edges = list(accumulate(one.share for one in classes))
    return [bisect(edges, u * edges[-1]) for u in uniforms(seed, "classes", count)]


def _pick_prefixes(load: LoadConfig, count: int) -> list[int | None]:
    """The prefix group of each request; None if prompts share nothing."""
    if not (load.prefix_groups and load.prefix_len):
        return [None] * count
    return [int(u * load.prefix_groups) for u in uniforms(load.seed, "prefixes", count)]


def fit(specs: Sequence[RequestSpec], max_model_len: int) -> tuple[list[RequestSpec], list[Note]]:
    """The same requests with prompt + answer <= max_model_len [tokens], and notes on how many were cut.

    An answer longer than max_model_len - 1 is cut to that; then a prompt gives way at its end, down to 1 token.
    Simplification: vLLM refuses a prompt that is too long, and ends an answer where max_model_len does.
    """
    fitted = [_cut(spec, max_model_len) for spec in specs]
    pairs = list(zip(specs, fitted, strict=True))
    prompts_cut = sum(new.num_prompt_tokens < old.num_prompt_tokens for old, new in pairs)
    outputs_cut = sum(new.max_tokens < old.max_tokens for old, new in pairs)
    counts = (("prompts_cut", prompts_cut), ("outputs_cut", outputs_cut))
    return fitted, [Note(code, count, max_model_len) for code, count in counts if count]


def _cut(spec: RequestSpec, max_model_len: int) -> RequestSpec:
    if spec.num_prompt_tokens + spec.max_tokens <= max_model_len:
        return spec
    output = min(spec.max_tokens, max_model_len - 1)
    prompt = min(spec.num_prompt_tokens, max_model_len - output)
    chunks = -(-prompt // spec.hash_size) if spec.hash_size else 0
    shared = min(spec.prefix_len, prompt)
    return replace(
        spec, num_prompt_tokens=prompt, max_tokens=output, prefix_len=shared, hash_ids=spec.hash_ids[:chunks]
    )
