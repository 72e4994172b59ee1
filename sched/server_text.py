"""What was pasted, made plain: the command that starts a server, wherever it stands, and lines short enough to search.

Commands come from shells, docker, compose files, Kubernetes lists, from what the log repeats of its arguments, and
from the middle of a sentence. Nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from sched.flags import SETTINGS as FLAGS

MAX_LINE = 2_000
"""Of a longer line of a log only so much is read [characters]; vLLM's own lines have a few hundred."""
MAX_COMMAND = 20_000
"""Of a longer command only so much is read [characters]."""
COLOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
TYPOGRAPHY = str.maketrans(dict.fromkeys("\u2018\u2019", "'") | dict.fromkeys("\u201c\u201d", '"') | {"\u00a0": " "})
DASHES = re.compile(r"(?<=\s)[\u2013\u2014]{1,2}(?=[a-z])")
COMMAND = re.compile(r"vllm +serve\b|vllm\.entrypoints|vllm-openai")
ENDS = re.compile(r"(?<![\\^`])[ \t]*(?:\n|$)")
PROSE = re.compile(r"\s['\"`(]?[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
"""Where Korean text goes on behind a command."""
ECHOES = ("non-default args: {", "args: Namespace(", " with config: ")
"""What stands in a log before the arguments that it repeats."""
PAIR = re.compile(r"['\"]?\b(\w+)['\"]?[=:] ?('[^'\n]*'|\"[^\"\n]*\"|True|False|[\w.]+)")
RENAMED = {"max_seq_len": "max_model_len", "model_tag": "model"}
OPTIONS = frozenset(flag.removeprefix("--").replace("-", "_") for flag in FLAGS)
LISTED = re.compile(r"^(?P<indent>[ \t]*)(?:- )?(?P<key>command|args):[ \t]*(?P<rest>[^\n]*)$", re.MULTILINE)


def plain(text: str) -> str:
    """The text as vLLM and a shell would have written it: no colours, no typographer's quotes and dashes."""
    text = COLOR.sub("", text).replace("\r\n", "\n").translate(TYPOGRAPHY)
    return DASHES.sub("--", text)


def short_lines(text: str) -> str:
    """The text with each line cut to what is read of it: no search then takes longer than the text is long."""
    return "\n".join(line[:MAX_LINE] for line in text.split("\n"))


def find_command(text: str) -> str:
    """The command that starts a server as one `vllm serve` line; "" if there is none."""
    return _from_lists(text) or _from_shell(text) or _from_echo(text)


def _from_shell(text: str) -> str:
    """A line with the lines it is continued on; of a sentence only the command in it."""
    match = COMMAND.search(text)
    if not match:
        return ""
    start = text.rfind("\n", 0, match.start()) + 1
    end = ENDS.search(text, match.end())
    line = text[start : end.start() if end else len(text)]
    quoted = text.rfind("`", start, match.start())
    if quoted >= 0:  # `like this` in a sentence
        closed = text.find("`", match.end())
        line = text[quoted + 1 : closed if closed >= 0 else start + len(line)]
    prose = PROSE.search(line, max(match.start() - start, 0))
    return line[: prose.start()] if prose else line


def _from_echo(text: str) -> str:
    """What the log repeats of its arguments; the last time counts, as after a restart."""
    found = max((text.rfind(echo), echo) for echo in ECHOES)
    if found[0] < 0:
        return ""
    begin = found[0] + len(found[1])
    return " ".join(["vllm serve", *_words(text[begin : begin + MAX_COMMAND].split("\n", 1)[0])])


def _words(pairs: str) -> Iterator[str]:
    """Arguments of Python as words of a command; what is None, or no option of ours, is left out."""
    for name, value in dict(PAIR.findall(pairs)).items():
        option, bare = RENAMED.get(name, name), value.strip("'\"")
        if option == "model":
            yield f"--model={bare}"
        elif option in OPTIONS and bare not in ("None", ""):
            flag = option.replace("_", "-")
            yield {"True": f"--{flag}", "False": f"--no-{flag}"}.get(bare, f"--{flag}={bare}")


def _from_lists(text: str) -> str:
    """The words under `command:` and `args:` of a compose or Kubernetes file, if they start vLLM."""
    words: list[str] = []
    for match in LISTED.finditer(text):
        words += _listed(match["rest"].strip(), text[match.end() + 1 : match.end() + 1 + MAX_COMMAND], match["indent"])
    if not any(word.startswith("--") for word in words):
        return ""
    while words and (words[0] in ("vllm", "serve") or words[0].rsplit("/", 1)[-1] in ("vllm", "sh", "bash")):
        words.pop(0)
    return " ".join(["vllm serve", *words])


def _listed(rest: str, below: str, indent: str) -> list[str]:
    """One list: ["in", "brackets"], in a line, or item by item on the lines below."""
    if rest.startswith("["):
        try:
            return [_quoted(str(word)) for word in json.loads(rest[: rest.rfind("]") + 1])]
        except ValueError:
            return []
    if rest and rest not in (">", ">-", "|", "|-"):
        return [rest]
    words = []
    for line in below.split("\n"):
        inside = len(line) - len(line.lstrip()) > len(indent) or line.startswith(f"{indent}- ")
        if not inside:
            break
        words.append(line.strip().removeprefix("- ").rstrip("\\").strip())
    return words


def _quoted(word: str) -> str:
    return f"'{word}'" if re.search(r"[\s\"]", word) and "'" not in word else word
