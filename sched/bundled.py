"""The traces that come with the project: what they are, whose they are, and how to read one by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sched.errors import InputError
from sched.traces import Trace, read_trace

DATA = Path(__file__).parent / "data"
"""Where the bundled files are; `data/workloads/SOURCES.md` says where they come from."""

AZURE = "Azure public dataset, LLM inference traces 2023 (Patel et al., Splitwise, ISCA 2024)"
MOONCAKE = "Mooncake traces, kvcache-ai (Qin et al., FAST 2025)"
BURSTGPT = "BurstGPT, HPMLL (Wang et al.)"
QWEN = "Qwen-Bailian usage traces, alibaba-edu"
SERVEGEN = "ServeGen, Alibaba"
LLMSERVINGSIM = "vLLM 0.19.0 runs published with LLMServingSim, CASYS Lab at KAIST"


@dataclass(frozen=True, slots=True)
class BundledTrace:
    """One trace in the box.

    Attributes:
        name: what LoadConfig.trace calls it.
        title: what people call it.
        file: its path under DATA.
        rows: how many requests it has (of a client model: windows of ten minutes).
        licence: SPDX identifier.
        attribution: whom to thank.
    """

    name: str
    title: str
    file: str
    rows: int
    licence: str
    attribution: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return DATA / self.file

    @property
    def source(self) -> str:
        """One sentence for a picture's footer."""
        return f"{self.title}: {self.attribution}; {self.licence}."


BUNDLED = (
    BundledTrace("azure_conv_2023", "Azure conversation traffic, 2023",
                 "workloads/AzureLLMInferenceTrace_2023_conv.csv.gz", 19_366, "CC-BY-4.0", AZURE),
    BundledTrace("azure_code_2023", "Azure code completion traffic, 2023",
                 "workloads/AzureLLMInferenceTrace_2023_code.csv.gz", 8_819, "CC-BY-4.0", AZURE),
    BundledTrace("mooncake_conversation", "Mooncake conversation, first 2,000 requests",
                 "workloads/mooncake_conversation_first2000.jsonl.gz", 2_000, "Apache-2.0", MOONCAKE),
    BundledTrace("mooncake_synthetic", "Mooncake synthetic",
                 "workloads/mooncake_synthetic_trace.jsonl.gz", 3_993, "Apache-2.0", MOONCAKE),
    BundledTrace("burstgpt_sample", "BurstGPT, first rows",
                 "workloads/burstgpt_sample.csv", 3, "CC-BY-4.0", BURSTGPT),
    BundledTrace("qwen_bailian_sample", "Qwen-Bailian, first row",
                 "workloads/qwen_bailian_sample.jsonl", 1, "Apache-2.0", QWEN),
    BundledTrace("servegen_client", "ServeGen m-large, one client's arrivals",
                 "workloads/servegen_m-large_chunk-0-trace.csv", 2_016, "Apache-2.0", SERVEGEN),
    BundledTrace("rtx4090_run", "Real run: Llama-3.1-8B on an RTX 4090",
                 "real-runs/RTX4090_Llama-3.1-8B/requests.jsonl", 300, "MIT", LLMSERVINGSIM),
    BundledTrace("rtxpro6000_run", "Real run: Llama-3.1-8B on an RTX PRO 6000",
                 "real-runs/RTXPRO6000_Llama-3.1-8B/requests.jsonl", 300, "MIT", LLMSERVINGSIM),
)  # fmt: skip


def bundled_traces() -> tuple[BundledTrace, ...]:
    """All traces in the box, in the order to show them."""
    return BUNDLED


def find_bundled(name: str) -> BundledTrace:
    """The bundled trace of this name. Raises InputError naming the known ones."""
    for one in BUNDLED:
        if one.name == name:
            return one
    raise InputError("unknown_choice", field="trace", value=name, limit=", ".join(one.name for one in BUNDLED))


def read_bundled(name: str, seed: int = 0) -> Trace:
    """Read a bundled trace by name; the seed is for client models only. Raises InputError for an unknown name."""
    one = find_bundled(name)
    return replace(read_trace(one.path, one.name, seed=seed), source=one.source)


def open_trace(name_or_path: str, seed: int = 0) -> Trace:
    """A bundled trace if there is one of that name, else the file at that path: for the command line, never for a link.

    Raises InputError if neither can be read.
    """
    if any(one.name == name_or_path for one in BUNDLED):
        return read_bundled(name_or_path, seed)
    try:
        return read_trace(Path(name_or_path or "(empty)"), seed=seed)
    except InputError as error:
        if error.code != "no_such_file":
            raise
        names = ", ".join(one.name for one in BUNDLED)
        value = name_or_path or "(empty)"
        raise InputError("no_such_file", value=value, limit=f"give a path, or one of {names}") from None
