"""A page in a fresh profile that must complain of nothing and ask nobody else."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page


@contextmanager
def watched(
    chromium: Browser, url: str, tolerated: Sequence[str] = (), script: str = "", **options: Any
) -> Iterator[Page]:
    """The page, in which a script ran before all others.

    At the end: no error in its console but those with a tolerated word, no request to another host."""
    context = chromium.new_context(**{"viewport": {"width": 1440, "height": 1000}, "locale": "en-US", **options})
    page = context.new_page()
    errors: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    if script:
        page.add_init_script(script)
    page.goto(url)
    yield page
    context.close()
    assert not [error for error in errors if not any(word in error for word in tolerated)]
    assert hosts - {""} == {urlsplit(url).netloc}, "everything comes from this server"
