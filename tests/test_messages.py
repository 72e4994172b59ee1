"""What sched says of a bad input reads as Korean in Korean: no English is left but names, values and vLLM's words."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sched.capacity import parse_startup
from sched.errors import MESSAGES, InputError
from sched.flag_notes import IGNORED, REMOVED
from sched.flags import parse_command
from sched.model_config import MODEL_TYPES, model_from_config
from sched.scenario import SETTINGS, Scenario, read_value
from sched.serve_line import not_in_serve_line
from sched.server_lines import from_lines
from sched.simulate import cache_of
from sched.step_time import step_time_model
from sched.sweep import Axis, plan_sweep
from sched.trace_formats import named_columns
from sched.traces import read_trace, select
from sched.workload import make_workload
from view.notices import error_text
from view.phrases import phrase
from view.share import decode
from view.text import LANGUAGES, read, translator

KOREAN, ENGLISH = translator("ko"), translator("en")

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip


def config(**changes: Any) -> Callable[[], object]:
    """A config.json of a Llama, changed; None takes a key out."""
    text = json.dumps({key: value for key, value in {**LLAMA, **changes}.items() if value is not None})
    return lambda: model_from_config(text)


def scenario(**changes: Any) -> Callable[[], object]:
    return lambda: Scenario().replace(**changes)


def timed(**changes: Any) -> Callable[[], object]:
    """A measured profile of an RTX 4090 with Llama-3.1-8B, asked for something else."""
    hardware = Scenario().replace(step_time="measured", profile="RTX-4090_Llama-3.1-8B", **changes).hardware
    return lambda: step_time_model(hardware, 16)


def upload(data: str | bytes, name: str = "mine.csv") -> Callable[[], object]:
    return lambda: read_trace(data if isinstance(data, bytes) else data.encode(), name)


def windowed() -> object:
    trace = read_trace(b"arrival,prompt,output\n0,5,5\n9,5,5\n", "mine.csv")
    return select(trace, Scenario().replace(trace_start=100.0).load)


def windowed_to() -> object:
    trace = read_trace(b"arrival,prompt,output\n0,5,5\n9,5,5\n", "mine.csv")
    return select(trace, Scenario().replace(trace_start=100.0, trace_duration=5.0).load)


HEAD = "arrival,prompt,output\n"
BENCH = {"start_times": [0.0], "input_lens": [5], "output_lens": [5]}
GEN = "0,1.5,0,Gamma,1.0,0\n"

CAUSES: dict[str, Callable[[], object]] = {
    "a pool too small": scenario(max_model_len=100_000, num_gpu_blocks=20),
    "no number": scenario(max_num_seqs="x"),
    "a text for a number": scenario(max_num_seqs="8"),
    "a list for a number": scenario(max_num_seqs=[8]),
    "nothing for a number": scenario(max_num_seqs=None),
    "half a request": scenario(max_num_seqs=1.5),
    "no real number": scenario(rate="fast"),
    "no switch": scenario(enable_prefix_caching="yes"),
    "no such policy": scenario(policy="lifo"),
    "budget below seqs": scenario(max_num_batched_tokens=8, max_num_seqs=16),
    "budget below length": scenario(enable_chunked_prefill=False, max_num_batched_tokens=512, max_model_len=4096),
    "active above seqs": scenario(max_num_active_seqs=512, max_num_seqs=16),
    "threshold above length": scenario(long_prefill_token_threshold=9000, max_model_len=4096),
    "p99 out of reach": scenario(prompt_distribution="lognormal", prompt_mean=100, prompt_p99=9000),
    "tensor": scenario(pool="hardware", tensor_parallel_size=7),
    "tensor and KV": lambda: model_from_config(
        {**LLAMA, "num_attention_heads": 24, "num_key_value_heads": 12}
    ).check_parallel(8, 1),
    "pipeline": scenario(pool="hardware", pipeline_parallel_size=64),
    "no room": lambda: cache_of(Scenario().replace(pool="hardware", gpu="RTX-4090", gpu_memory_utilization=0.2)),
    "profile of another GPU": timed(gpu="H100-SXM"),
    "profile of one GPU": timed(gpu="RTX-4090", tensor_parallel_size=2),
    "profile of 16 bits": timed(gpu="RTX-4090", kv_cache_dtype="fp8"),
    "classes": lambda: read_value("classes", "chat:1"),
    "a class's length": lambda: read_value("classes", "chat:1:x:5"),
    "a class's name": lambda: read_value("classes", f"{'a' * 50}:1:5:5"),
    "no share": scenario(classes=read_value("classes", "chat:0:5:5")),
    "a class's priority": lambda: read_value("classes", "chat:1:5:5:9999"),
    "a class's share": lambda: read_value("classes", "chat:-1:5:5"),
    "rows": lambda: read_value("rows", "1,2"),
    "a row's prompt": scenario(rows=((0.0, 0, 5, 0),)),
    "a row's kind": scenario(rows=((0.0, 1.5, 5, 0),)),
    "a row's arrival": scenario(rows=(("x", 1, 5, 0),)),
    "too many rows": scenario(rows=((0.0, 1, 1, 0),) * 20_001),
    "an empty table": lambda: make_workload(Scenario().replace(source="table").load, 4096),
    "max_model_len of 1": lambda: make_workload(Scenario().load, 1),
    "no setting": lambda: read_value("max_num_seq", "8"),
    "no setting at all": lambda: read_value("", "8"),
    "a switch in text": lambda: read_value("enable_prefix_caching", "maybe"),
    "no seeds": lambda: plan_sweep(Scenario(), [Axis("max_num_seqs", (8, 16))], 99),
    "too many runs": lambda: plan_sweep(Scenario(), [Axis("max_num_seqs", tuple(range(1, 2000)))], 8),
    "no knob": lambda: plan_sweep(Scenario(), [Axis("trace", ("a",))]),
    "no value": lambda: plan_sweep(Scenario(), [Axis("max_num_seqs", ())]),
    "one knob twice": lambda: plan_sweep(Scenario(), [Axis("max_num_seqs", (8,))] * 2),
    "an open quote": lambda: parse_command("vllm serve 'x"),
    "an open escape": lambda: parse_command("vllm serve x \\"),
    "a long command": lambda: parse_command("x" * 2_000_000),
    "long lines": lambda: from_lines("x" * 5_000_001),
    "no start-up line": lambda: parse_startup("nothing"),
    "config: no JSON": lambda: model_from_config("{'a'}"),
    "config: cut": lambda: model_from_config('{"a": '),
    "config: a list": lambda: model_from_config("[1]"),
    "config: a text": lambda: model_from_config('"x"'),
    "config: a number": lambda: model_from_config("7"),
    "config: too long": lambda: model_from_config(" " * 200_001),
    "config: a number as text": config(num_hidden_layers="32"),
    "config: quantization as text": config(quantization_config="fp8"),
    "config: quantization of a list": config(quantization_config={"quant_method": ["fp8"]}),
    "config: layers counted": config(layer_types=5),
    "config: deep": lambda: model_from_config("[" * 100_000),
    "config: digits": lambda: model_from_config("[" + "9" * 10_000 + "]"),
    "config: control": lambda: model_from_config('{"a": "\n"}'),
    "config: escape": lambda: model_from_config('{"a": "\\x"}'),
    "config: unicode": lambda: model_from_config('{"a": "\\uZZZZ"}'),
    "config: open text": lambda: model_from_config('{"a'),
    "config: colon": lambda: model_from_config('{"a" 1}'),
    "config: comma": lambda: model_from_config('{"a": 1 "b"}'),
    "config: extra": lambda: model_from_config("{} {}"),
    "config: trailing": lambda: model_from_config('{"a": 1,}'),
    "config: missing": config(hidden_size=None),
    "config: too large": config(hidden_size=10**9),
    "config: images": config(vision_config={}),
    "config: MLA": config(kv_lora_rank=512),
    "config: window": config(model_type="mistral", sliding_window=4096),
    "config: state": config(layer_types=["mamba"]),
    "config: experts": config(decoder_sparse_step=2),
    "config: kind": config(model_type="gpt2"),
    "config: quantization": config(quantization_config={"quant_method": "bitsandbytes"}),
    "upload: too large": upload(b"x" * 5_000_001),
    "upload: empty": upload("  "),
    "upload: not text": upload(b"a,b\n\xff\xfa\n"),
    "upload: cut gzip": upload(gzip.compress(b"arrival,prompt,output\n" * 99)[:40]),
    "upload: a bomb": upload(gzip.compress(b" " * 100_000_001, 1)),
    "upload: header": upload(HEAD),
    "upload: no cells": upload(",,\n"),
    "upload: unknown": upload("a,b,c\n1,2,3\n"),
    "upload: a column missing": upload("TIMESTAMP,ContextTokens\n1,2\n"),
    "upload: a huge cell": upload(HEAD + f'"{"x" * 200_000}",1,1\n'),
    "upload: no time": upload(HEAD + "soon,5,5\n"),
    "upload: no length": upload(HEAD + "0,many,5\n"),
    "upload: columns named": lambda: read_trace(HEAD.encode(), "mine.csv", named_columns("t", "prompt", "output")),
    "upload: a cell missing": upload(HEAD + "0,5\n"),
    "upload: out of range": upload(HEAD + "0,5,99999999999\n"),
    "upload: none answered": upload(HEAD + "0,0,0\n"),
    "upload: JSON list empty": upload("[]", "mine.json"),
    "upload: JSON not objects": upload("[1]", "mine.json"),
    "upload: JSON lists": upload('[["a"]]', "mine.json"),
    "upload: JSON cut": upload('{"arrival": 1,\n', "mine.jsonl"),
    "upload: JSON object for a cell": upload('{"arrival": {}, "prompt": 5, "output": 5}\n', "mine.jsonl"),
    "upload: hashes": upload('{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": ["x"]}\n'),
    "upload: bench kinds": upload(json.dumps({**BENCH, "start_times": 5}), "bench.json"),
    "upload: bench sizes": upload(json.dumps({**BENCH, "input_lens": [5, 6]}), "bench.json"),
    "upload: bench empty": upload(json.dumps({name: [] for name in BENCH}), "bench.json"),
    "upload: ServeGen rates": upload("0,0,0,Gamma,1.0,0\n0,0,0,Gamma,1.0,0\n"),
    "upload: ServeGen kind": upload(GEN + "600,1.5,0,Cauchy,1.0,0\n"),
    "upload: ServeGen number": upload(GEN + "600,x,0,Gamma,1.0,0\n"),
    "upload: ServeGen range": upload(GEN + "600,-5,0,Gamma,1.0,0\n"),
    "upload: ServeGen window": upload("0,10000,0,Gamma,1.0,0\n900000,1,0,Gamma,1.0,0\n"),
    "upload: ServeGen cells": upload(GEN + "600,1\n"),
    "an empty window": windowed,
    "an empty window with an end": windowed_to,
}


def errors() -> Iterator[tuple[str, InputError]]:
    """Each cause with its error; and one out-of-range error for each setting that has limits."""
    for name, cause in CAUSES.items():
        try:
            cause()
        except InputError as error:
            yield name, error
    for name, (_, spec) in SETTINGS.items():
        if "low" in spec.metadata:
            try:
                Scenario().replace(**{name: spec.metadata["low"] - 1})
            except InputError as error:
                yield name, error


ERRORS = dict(errors())
NOTES = {
    **{flag: parse_command(f"vllm serve --{flag.removeprefix('--')} 1").notes for flag in (*REMOVED, *IGNORED)},
    "a model": parse_command("vllm serve nobody/nothing").notes,
    "cut short": parse_command("vllm serve --max-num-bat 2048").notes,
    "scheduled": parse_command("vllm serve --max-num-scheduled-tokens 2048").notes,
    "unknown": parse_command("vllm serve --no-such-flag").notes,
    "no effect": parse_command("vllm serve --port 80").notes,
    "refused": parse_command("vllm serve --max-num-seqs 0 --block-size 1k --watermark x").notes,
    "no whole number": parse_command("vllm serve --max-num-batched-tokens q").notes,
    "no value": parse_command("vllm serve --max-num-seqs").notes,
    "no switch": parse_command("vllm serve --enable-chunked-prefill=5 --max-model-len auto").notes,
    "together": from_lines("vllm serve x --max-num-seqs 64 --max-num-batched-tokens 32").notes,
    "what if": not_in_serve_line(
        Scenario().replace(
            semantics="before_full_isl", preemption_mode="swap", batching="static", victim="least_computed"
        ).scheduler
    ),
}  # fmt: skip
LINKS = {
    "v": "9", "preset": "none", "lang": "fr", "step": "x", "profile": "p", "trace": "upload-mine", "rate": "x",
}  # fmt: skip

OURS = frozenset(
    re.findall(
        r"\S+",
        """request step prompt seed trace decode prefill block waiting running victim TTFT TPOT ITL E2E goodput preset
        GPU CPU KV MLA JSON CSV gzip UTF vLLM Hugging Face head expert context attention sliding window speculative
        token GiB decoding connector LoRA iteration Azure LLM BurstGPT Qwen Bailian Mooncake LLMServingSim Vidur vllm
        bench serve throughput manager RTX config name rows classes share seeds bitsandbytes gptq awq Gamma Weibull
        distribution requests s cv TIMESTAMP ContextTokens chunked true false null arrival output""",
    )
)
"""Words that Korean keeps in English: vLLM's own, and names of formats, fields and columns."""
GIVEN = {*re.findall(r"\w+", "lifo x t many soon uXXXX a b c mine bench csv json jsonl chat Cauchy nobody nothing q")}
GIVEN |= {"a" * 50, "maybe"}
"""What the causes above write themselves."""


def left_over(said: str) -> list[str]:
    """English words of a Korean sentence that are no names: no settings, no flags, no values, nothing in quotes."""
    options = (word for _, spec in SETTINGS.values() for word in spec.metadata.get("options", ()))
    names = {*SETTINGS, *MODEL_TYPES, *options}
    bare = re.sub(r"`[^`]*`|INFO .*|GPU KV cache size.*|--?[\w-]+|PYTHONPATH=\S+|\"[^\"]*\"", " ", said)
    words = [word.rstrip(".-") for word in re.findall(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", bare)]
    plain = [word for word in words if word not in names and not re.search(r"[\d_]", word)]
    return [word for word in plain if not set(re.split(r"[-.]", word)) <= OURS | GIVEN | names]


def test_each_cause_is_refused() -> None:
    assert not set(CAUSES) - set(ERRORS)


@pytest.mark.parametrize("name", ERRORS)
def test_a_refusal_is_korean_in_korean(name: str) -> None:
    said = error_text(ERRORS[name], KOREAN)
    assert re.search("[가-힣]", said) and not left_over(said), said


@pytest.mark.parametrize("name", NOTES)
def test_a_remark_on_a_flag_is_korean_in_korean(name: str) -> None:
    for note in NOTES[name]:
        said = phrase(note, KOREAN)
        assert re.search("[가-힣]", said) and not left_over(said.replace(name, "")), said
    assert NOTES[name]


@pytest.mark.parametrize("name", LINKS)
def test_a_notice_on_a_link_is_korean_in_korean(name: str) -> None:
    said = [error_text(one, KOREAN) for one in decode({name: LINKS[name]}).notices]
    assert len(said) == 1 and re.search("[가-힣]", said[0])


def test_english_fragments_stay_as_they_are() -> None:
    for error in ERRORS.values():
        for part in error.parts.values():
            assert phrase(part, ENGLISH).replace(",", "") == part.replace(",", ""), error


def test_every_phrase_is_one_that_sched_says() -> None:
    """A wording changed in sched and not here would be English in the middle of Korean."""
    met: set[str] = set()

    def record(key: str, /, **fields: object) -> str:
        met.add(key)
        return key

    for error in ERRORS.values():
        for part in error.parts.values():
            phrase(part, record)
    for note in (note for notes in NOTES.values() for note in notes):
        phrase(note, record)
    spare = {key for key in read("en") if key.startswith("phrases.")} - met
    assert spare <= {"phrases.json.trailing_object", "phrases.json.trailing_array"}, "which Python 3.13 says"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_of_sched_that_a_page_can_show_has_a_text(language: str) -> None:
    told = {key.removeprefix("errors.") for key in read(language) if key.startswith("errors.")}
    assert {error.code for error in ERRORS.values()} <= told
    assert told - {"upload_in_link"} <= set(MESSAGES)
