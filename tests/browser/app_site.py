"""A server with the whole app, for browser tests and the benchmark."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def app_site(workers: int = 2) -> Iterator[tuple[str, int]]:
    """The app's address and its server's process id, while it is being served."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true", "--server.address=127.0.0.1",
        f"--server.port={port}",
    ]  # fmt: skip
    server = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "SCHED_WORKERS": str(workers)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/", server.pid
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the app's server did not start within 60 s")
