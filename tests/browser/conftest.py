"""What the browser tests of the app share: one server and one browser a file. The player's own have another site."""

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser

from tests.browser.app_site import app_site
from tests.browser.player_site import browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with app_site(workers=0) as (where, _):
        yield where


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened
