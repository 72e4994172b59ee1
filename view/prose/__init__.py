"""The lessons' words: view/prose/<language>/<lesson>.toml, their fields filled from the runs, as HTML.

Their markup is small: blank lines part paragraphs, "- " begins a list item, "## " a heading, ``` fences lines as they
are; within a line `code`, **strong**, and [words](moment): a button that leads the playhead there. A target may also be
`set:name=value,name=value` (turn the lesson's settings), `page:name` (another page) or an https:// address. Words whose
button would tell an answer too early are `put_off`: plain until then, and as wide.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from view.text import filled

PROSE = Path(__file__).parent
INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\[(?P<words>[^]]+)\]\((?P<target>[^)]+)\)")

LATER = "later:"
"""The target of words that are no button yet."""
TAIL = re.compile(r"[^\s`*\[]*")
"""What stands right behind a button: a full stop, a particle."""


@cache
def prose(language: str, lesson: str) -> Mapping[str, Any]:
    """The words of a lesson as they are written; tables within it as plain dicts."""
    path = PROSE / language / f"{lesson}.toml"
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))


def texts(words: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """All texts of a lesson by their dotted key; items of a list are numbered."""
    found: dict[str, str] = {}
    for name, value in words.items():
        items = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(items, Mapping):
            found |= texts({str(key): one for key, one in items.items()}, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def targets(text: str) -> list[str]:
    """Where the buttons of a text lead."""
    return [match["target"] for match in INLINE.finditer(text) if match["target"]]


def put_off(text: str, moments: Collection[str]) -> str:
    """A text as it is written, without the buttons that lead to some moments."""

    def later(match: re.Match[str]) -> str:
        return f"[{match['words']}]({LATER})" if match["target"] in moments else match[0]

    return INLINE.sub(later, text)


def rendered(text: str, fields: Mapping[str, object], pages: Mapping[str, str] = MappingProxyType({})) -> str:
    """A text as HTML, its fields filled. pages: page name -> address."""
    return "".join(_block(block, pages) for block in _blocks(filled(text, fields)))


def line(text: str, fields: Mapping[str, object], pages: Mapping[str, str] = MappingProxyType({})) -> str:
    """The same for a single line: no paragraph around it."""
    return _inline(filled(text, fields), pages)


def plain(text: str, fields: Mapping[str, object]) -> str:
    """The words alone."""
    words = filled(text, fields)
    for _ in range(2):  # code may stand within a button
        words = INLINE.sub(lambda match: match["code"] or match["strong"] or match["words"], words)
    return words.strip()


def _blocks(text: str) -> list[str]:
    """Paragraphs, lists, headings and fenced lines; a fence may hold blank lines."""
    blocks: list[str] = []
    for place, part in enumerate(re.split(r"^```\n?", text.strip(), flags=re.MULTILINE)):
        if place % 2:
            blocks.append(f"```{part.rstrip()}")
        else:
            blocks += [block for block in re.split(r"\n\s*\n", part.strip()) if block]
    return blocks


def _block(block: str, pages: Mapping[str, str]) -> str:
    if block.startswith("```"):
        return f"<pre>{html.escape(block[3:])}</pre>"
    if block.startswith("## "):
        return f"<h3>{_inline(block[3:], pages)}</h3>"
    if block.startswith("- "):
        items = re.split(r"\n?^- ", block, flags=re.MULTILINE)[1:]
        return f"<ul>{''.join(f'<li>{_inline(item, pages)}</li>' for item in items)}</ul>"
    return f"<p>{_inline(block, pages)}</p>"


def _inline(text: str, pages: Mapping[str, str]) -> str:
    parts, end = [], 0
    for match in INLINE.finditer(text):
        marked, tail = _marked(match, pages), TAIL.match(text, match.end())
        parts.append(html.escape(text[end : match.start()]))
        end = match.end()
        if tail and tail[0] and marked.startswith("<button"):  # no line may end between a button and its full stop
            marked, end = f'<span class="lesson-whole">{marked}{html.escape(tail[0])}</span>', tail.end()
        parts.append(marked)
    return "".join([*parts, html.escape(text[end:])]).replace("\n", " ")


def _marked(match: re.Match[str], pages: Mapping[str, str]) -> str:
    if match["code"]:
        return f"<code>{html.escape(match['code'])}</code>"
    if match["strong"]:
        return f"<strong>{_inline(match['strong'], pages)}</strong>"
    words, target = _inline(match["words"], pages), match["target"]
    if target.startswith("https://"):
        return f'<a href="{html.escape(target)}" target="_blank" rel="noopener">{words}</a>'
    if target == LATER:
        return f'<span class="lesson-later">{words}</span>'
    if target.startswith("page:"):
        return f'<a href="{html.escape(pages.get(target[5:], "."))}" target="_self">{words}</a>'
    kind, value = ("set", target[4:]) if target.startswith("set:") else ("go", target)
    return f'<button type="button" class="lesson-go" data-{kind}="{html.escape(value)}">{words}</button>'
