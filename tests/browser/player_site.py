"""A server with the player's demo page and a headless browser, for its tests and its benchmark."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def site() -> Iterator[str]:
    """The demo page's address, while it is being served."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "server.port": port, "server.headless": "true", "server.address": "127.0.0.1", "client.toolbarMode": "viewer",
        "server.enableStaticServing": "true", "server.fileWatcherType": "none", "browser.gatherUsageStats": "false",
    }  # fmt: skip
    page = str(ROOT / "tests" / "browser" / "demo_page.py")
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        page,
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the demo page's server did not start within 30 s")


def colors(picture: np.ndarray) -> int:
    """How many different colours a picture of (rows, columns, 3) has: one or two if a panel is blank."""
    wide = picture.astype(np.int64)
    return len(np.unique(wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]))


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Visit:
    """One open page, what it complained of and which hosts it asked."""

    def __init__(self, chromium: Browser, address: str, width: int = 1440, height: int = 900, **context: Any) -> None:
        self.context = chromium.new_context(viewport={"width": width, "height": height}, **context)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.hosts.add(r.url.split("/")[2]) if r.url.startswith("http") else None)
        self.page.goto(address)
        self.page.wait_for_selector(".sx[data-ready]", timeout=30_000)
        self.page.add_style_tag(content="header{display:none!important}")

    def js(self, code: str, *args: Any) -> Any:
        """Evaluate JavaScript; `P` is the player."""
        return self.page.evaluate(f"arg => {{ const P = __sx; return {code} }}", *args)

    def until(self, code: str, timeout: int = 10_000) -> None:
        self.page.wait_for_function(f"() => {{ const P = globalThis.__sx; return {code} }}", timeout=timeout)

    def python(self) -> str:
        """What the page's Python heard."""
        return self.page.locator("[data-testid=stCaptionContainer]").last.inner_text()

    def hears(self, text: str) -> None:
        self.page.get_by_text(text).wait_for(timeout=10_000)

    def point(self, x_axis: str, y_axis: str, x: float, y: float) -> tuple[float, float]:
        """Where a point of the figure lies on the screen."""
        return tuple(
            self.page.evaluate(
                "a => { const f = __sx.figure, r = f.gd.getBoundingClientRect(), [u, v] = f.pixels(a);"
                " return [r.left + u, r.top + v] }",
                [x_axis, y_axis, x, y],
            )
        )

    def close(self) -> None:
        self.context.close()
