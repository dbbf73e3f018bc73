"""A browser for these tests: Debian's Chromium, a server in this program, and pages of people."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.serve.dashboard.office import ANNA, Office, open_office

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE: Final = 30_000
"""Milliseconds that a page may take for anything: a machine may stand still for some seconds."""
expect.set_options(timeout=PATIENCE)
OpenPage: TypeAlias = Callable[..., Page]
"""Opens a view of the dashboard in a browser of its own."""


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with open_office() as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        reason = "the dashboard is tried in Chromium, which is not installed: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(office: Office, chromium: Browser) -> Iterator[OpenPage]:
    """Pages that sign in by themselves. An error in a page, or anything that the policy stops, fails the test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_view(view: str = "runs", *, token: str | None = ANNA, width: int = 1280, height: int = 800) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, locale="en-GB", timezone_id="UTC", color_scheme="light"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if "Refused" in message.text else None)
        if token is not None:
            context.add_init_script(f"sessionStorage.setItem('tactician.token', '{token}')")
        page.goto(f"{office.pages}#/{view}")
        return page

    yield open_view
    for context in contexts:
        context.close()
    office.cancel_all()
    assert problems == []
