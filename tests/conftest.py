"""Settings that hold for all tests, and what several files share."""

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60, print_blob=True)
settings.load_profile("steady")


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are simulated in the test's own process."""
    monkeypatch.setenv("SCHED_WORKERS", "0")
