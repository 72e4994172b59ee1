"""What does a bad input say to the reader? Sentences for InputError and Note, and for how a run ended."""

from __future__ import annotations

from sched.errors import InputError
from sched.notes import Note
from sched.timeline import Timeline
from view.phrases import phrase
from view.share import UPLOAD
from view.text import Text


def error_text(error: InputError, text: Text) -> str:
    """One sentence naming field, value and limit; a place (file, line) that it does not name is put in front."""
    if error.code == "no_such_file" and error.parts["value"].startswith(UPLOAD):
        return text("errors.upload_in_link", value=error.parts["value"])
    parts = {name: phrase(part, text) for name, part in error.parts.items()}
    sentence = text(f"errors.{error.code}", **parts)
    where = parts["where"]
    return f"{where}: {sentence}" if where and where not in sentence else sentence


def note_text(note: Note, text: Text) -> str:
    """What was cut or left out when the load was read."""
    return text(f"notes.{note.code}", count=f"{note.count:,}", limit=f"{note.limit:,}")


def end_text(timeline: Timeline, text: Text) -> str:
    """How a run ended that did not finish; "" if it did."""
    end = timeline.end
    if end.how == "finished":
        return ""
    name = timeline.request_id(end.request) if end.request >= 0 else ""
    key = f"shell.cut_{end.which}" if end.how == "cut" else f"shell.{end.how}"
    return text(key, request=name, needed=end.needed, limit=end.limit)
