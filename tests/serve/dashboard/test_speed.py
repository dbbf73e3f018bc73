"""The dashboard stays fluid with many runs and with a run of many events. `make soak` holds it to its times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tactician.events.bus import EventEmitter
from tactician.llm import ToolCall, ToolResult
from tactician.loop import ToolCalled, ToolReturned
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.store import RunStore
from tests.serve.dashboard.office import ANNA, Office, open_office
from tests.support.effort import EFFORT

EVENTS: Final = 1000 if EFFORT == 1 else 5000
FIRST_PAINT: Final = 1.0
"""Seconds until a browser that knows nothing of the server paints."""
LONGEST_FRAME: Final = 0.25
"""Seconds for which the page may not answer, on a machine of two cores."""
_WATCH: Final = """
    window.frames_ = [];
    let last = performance.now();
    const tick = () => {
        const now = performance.now();
        window.frames_.push(now - last);
        last = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    new MutationObserver((_, observer) => {
        if (document.querySelector("tbody a")) { window.firstRow = performance.now(); observer.disconnect(); }
    }).observe(document, {childList: true, subtree: true});
"""


async def fill(office: Office, first: int, last: int) -> None:
    store = RunStore(office.platform.store)
    for number in range(first, last):
        header = RunHeader(output=f"verse {number}", started_at=1_790_000_000.0 + number)
        await store.save(
            RunRecord(
                run_id=f"r{number:05}", name="Poet", kind="agent", status=RunStatus.COMPLETED, header=header, body="{}"
            )
        )


async def call_tools(office: Office, run_id: str, count: int) -> None:
    emitter = EventEmitter(office.platform.services.bus, run_id, ("Slow",))
    for number in range(count // 2):
        call = ToolCall(f"call_{number}", "look_up", f'{{"number": {number}}}')
        emitter.emit(ToolCalled, call=call)
        emitter.emit(ToolReturned, call=call, result=ToolResult(call.id, call.name, f"result {number}"), seconds=0.01)


@pytest.fixture(scope="module")
def crowded() -> Iterator[Office]:
    with open_office() as opened:
        opened.run(fill(opened, 0, 100))
        yield opened


@pytest.fixture
def office(crowded: Office) -> Office:
    return crowded


def watch(browser: Browser, office: Office) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(f"sessionStorage.setItem('tactician.token', '{ANNA}'); {_WATCH}")
    return context.new_page()


def longest_frame(page: Page) -> float:
    """Return the longest frame since the last call, in seconds."""
    frames: list[float] = page.evaluate("window.frames_.splice(0)")
    return max(frames, default=0.0) / 1000


@pytest.mark.soak
def test_a_cold_browser_shows_100_runs(office: Office, chromium: Browser) -> None:
    page = watch(chromium, office)
    page.goto(office.pages)
    expect(page.get_by_role("row").nth(10)).to_be_visible()
    seconds = page.evaluate("window.firstRow") / 1000
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0") / 1000
    requests = page.evaluate("performance.getEntriesByType('resource').length")
    print(f"first paint {paint:.2f} s, 100 runs after {seconds:.2f} s, {requests} requests")
    page.context.close()

    assert requests < 25
    assert paint < FIRST_PAINT or EFFORT == 1


@pytest.mark.soak
def test_1000_runs_and_5000_events_stay_fluid(office: Office, chromium: Browser) -> None:
    office.run(fill(office, 100, 1000))
    page = watch(chromium, office)
    page.goto(office.pages)
    expect(page.get_by_role("row").nth(10)).to_be_visible()
    longest_frame(page)
    page.mouse.move(700, 500)
    for _ in range(20):
        page.mouse.wheel(0, 2500)
        page.wait_for_timeout(16)
    rows = page.get_by_role("row").count()
    scrolling = longest_frame(page)

    run_id = office.start_run("slow", "Go")
    office.wait_for(run_id, "running")
    page.goto(f"{office.pages}#/runs/{run_id}?tab=events")
    expect(page.get_by_role("heading", name="Slow")).to_be_visible()
    longest_frame(page)
    office.run(call_tools(office, run_id, EVENTS))
    search = page.get_by_label("Search events")
    expect(search).to_have_attribute("placeholder", re.compile(r"Search [15]0\d\d events"), timeout=15_000)
    arriving = longest_frame(page)
    events = page.locator(".event-list li").count()
    page.reload()  # who comes late has all of them
    expect(search).to_have_attribute("placeholder", re.compile(r"Search [15]0\d\d events"), timeout=15_000)
    replaying = longest_frame(page)
    print(f"longest frames: scrolling {scrolling:.3f} s, arriving {arriving:.3f} s, replaying {replaying:.3f} s")
    page.context.close()
    office.call("DELETE", f"/api/runs/{run_id}")

    assert rows < 60
    assert 0 < events < 80
    assert max(scrolling, arriving) < LONGEST_FRAME or EFFORT == 1
