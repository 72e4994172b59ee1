"""Classes and hand-made rows as short text, so that a link and `--set` can hold them.

A class is `name:share:prompt:output:priority`, a row `arrival,prompt,output,priority`; a semicolon stands between two.
A length is `512` (fixed), `512~0.5` (uniform, +- half) or `512p2048` (lognormal, mean and p99).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sched.errors import InputError

CLASS_FORM = "name:share:prompt:output:priority; a length is 512, 512~0.5 or 512p2048"
ROW_FORM = "arrival,prompt,output,priority"

Number = TypeVar("Number", int, float)


def split_classes(text: str) -> list[dict[str, Any]]:
    """The fields of each class of the text, unchecked. Raises InputError where the form is not met."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        cells = [cell.strip() for cell in part.split(":")]
        if len(cells) not in (4, 5):
            raise InputError("bad_text", field="classes", value=part, limit=CLASS_FORM)
        fields: dict[str, Any] = {"name": cells[0], "share": _number(float, cells[1], "classes", CLASS_FORM)}
        fields |= _length("prompt", cells[2]) | _length("output", cells[3])
        if len(cells) == 5:
            fields["priority"] = _number(int, cells[4], "classes", CLASS_FORM)
        found.append(fields)
    return found


def split_rows(text: str) -> list[tuple[float, int, int, int]]:
    """The cells of each row of the text, unchecked. Raises InputError where the form is not met."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        cells = part.split(",")
        if len(cells) not in (3, 4):
            raise InputError("bad_text", field="rows", value=part, limit=ROW_FORM)
        prompt, output, *rest = (_number(int, cell, "rows", ROW_FORM) for cell in cells[1:])
        found.append((_number(float, cells[0], "rows", ROW_FORM), prompt, output, rest[0] if rest else 0))
    return found


def format_classes(classes: Iterable[Any]) -> str:
    """The text that split_classes reads back; what a class's distributions do not use is not written."""
    return ";".join(
        f"{one.name}:{one.share!r}:{_length_text(one, 'prompt')}:{_length_text(one, 'output')}:{one.priority}"
        for one in classes
    )


def format_rows(rows: Iterable[tuple[float, int, int, int]]) -> str:
    """The text that split_rows reads back."""
    return ";".join(f"{arrival!r},{prompt},{output},{priority}" for arrival, prompt, output, priority in rows)


def _length(side: str, text: str) -> dict[str, Any]:
    """The fields of one length."""
    for sign, kind, field, read in (("~", "uniform", "spread", float), ("p", "lognormal", "p99", int)):
        if sign in text:
            mean, extra = text.split(sign, 1)
            return {
                f"{side}_distribution": kind,
                f"{side}_mean": _number(int, mean, "classes", CLASS_FORM),
                f"{side}_{field}": _number(read, extra, "classes", CLASS_FORM),
            }
    return {f"{side}_distribution": "fixed", f"{side}_mean": _number(int, text, "classes", CLASS_FORM)}


def _length_text(one: Any, side: str) -> str:
    mean = getattr(one, f"{side}_mean")
    kind = getattr(one, f"{side}_distribution")
    if kind == "uniform":
        return f"{mean}~{getattr(one, f'{side}_spread')!r}"
    return f"{mean}p{getattr(one, f'{side}_p99')}" if kind == "lognormal" else str(mean)


def _number(read: Callable[[str], Number], text: str, field: str, form: str) -> Number:
    try:
        return read(text)
    except ValueError:
        raise InputError("bad_text", field=field, value=text, limit=form) from None
