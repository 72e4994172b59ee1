"""What of a page's own part of the address (`moment`, `with`) could not be read? Of the rest view/frame.py says it."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from sched.errors import InputError
from view.notices import error_text
from view.text import Text

MOST = 8
"""So many are listed."""


def unread(found: Sequence[InputError], text: Text) -> None:
    """Name each part that was left out, and why; nothing if all could be read."""
    if not found:
        return
    items = "".join(f"<li>{html.escape(error_text(error, text))}</li>" for error in found[:MOST])
    st.html(
        f'<div class="lesson-unread" role="status"><b>{html.escape(text("shell.notice_title"))}</b><ul>{items}</ul>'
        f"{html.escape(text('shell.notice_rest'))}</div>"
    )
