"""Pictures of the views, which the documentation shows: `make pictures` writes them there."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tactician.llm import AssistantMessage, ModelPrice, ModelResponse, Text, Usage
from tactician.loop import TurnCompleted, TurnFailed
from tests.serve.dashboard.office import ANNA, Office, open_office
from tests.serve.dashboard.test_evaluations import evaluate_capitals

PLACE: Final = Path(__file__).parents[3] / "docs" / "_static" / "dashboard"
_MODELS: Final = {"eu:gpt-5.4": (2400, 420), "us:claude-sonnet-5": (1500, 380), "local:qwen3": (900, 150)}
_PRICES: Final = {"eu:gpt-5.4": ModelPrice(2.5, 10.0), "us:claude-sonnet-5": ModelPrice(3.0, 15.0)}
_FREE: Final = ModelPrice(0.0, 0.0)


async def remember_an_hour(office: Office) -> None:
    """Let the server have seen an hour of work of some models."""
    chance, bus, now = random.Random(7), office.platform.services.bus, time.time()
    for minute in range(60, 0, -1):
        at = now - 60 * minute
        for name, (told, answered) in _MODELS.items():
            for _ in range(chance.randrange(1, 6)):
                usage = Usage(told, answered, requests=1, model=name, price=_PRICES.get(name, _FREE))
                response = ModelResponse(AssistantMessage((Text("Done."),)), usage, "stop", name)
                bus.emit(TurnCompleted(turn=1, response=response, seconds=chance.uniform(0.8, 3.0), time=at))
            if 25 < minute < 32 and name.startswith("us"):
                bus.emit(TurnFailed(turn=1, model=name, seconds=9.0, error="server", time=at))


def work(office: Office) -> tuple[str, str]:
    """Let agents work; return a run that has replanned, and one in which a tool was called."""
    office.run(remember_an_hour(office))
    for name, countries in (("gpt-5.4", 7), ("qwen3", 0)):
        office.run(evaluate_capitals(office, countries, name))
    for topic in ("Something about spring", "Something about rain", "A verse for a friend"):
        office.wait_for(office.start_run("poet", topic), "completed")
    for _ in range(5):  # the next would wait for the circuit
        office.wait_for(office.start_run("broken", "Anything"), "failed")
    planned = office.start_run("traveller", "Somewhere warm")
    (request,) = office.wait_for(planned, "waiting")["pending"]
    answer = {"city": "Rome", "nights": 3, "comfort": "first", "guests": [{"name": "Ada", "age": 36}]}
    office.call("POST", f"/api/runs/{planned}/answers", {"request": request["id"], "response": answer})
    paid = office.start_run("cashier", "Pay the hotel")
    (request,) = office.wait_for(paid, "waiting")["pending"]
    office.call("POST", f"/api/runs/{paid}/answers", {"request": request["id"], "response": True})
    office.wait_for(paid, "completed")
    for agent, given in (("cashier", "Pay the hotel"), ("newsroom", {"topic": "frogs"}), ("traveller", "To the sea")):
        office.wait_for(office.start_run(agent, given), "waiting")
    office.wait_for(office.start_run("slow", "Watch the gate"), "running")
    return planned, paid


@pytest.fixture(scope="module")
def busy(chromium: Browser) -> Iterator[tuple[Office, str, str]]:
    with open_office(has_evil=False) as opened:
        yield opened, *work(opened)


def test_every_view_has_a_picture(busy: tuple[Office, str, str], chromium: Browser, tmp_path: Path) -> None:
    office, planned, done = busy
    place = PLACE if os.environ.get("TACTICIAN_PICTURES") else tmp_path
    place.mkdir(parents=True, exist_ok=True)
    context = chromium.new_context(
        viewport={"width": 1200, "height": 760}, color_scheme="light", reduced_motion="reduce", locale="en-GB"
    )
    context.add_init_script(f"sessionStorage.setItem('tactician.token', '{ANNA}')")
    page = context.new_page()
    views = {
        "runs": "runs",
        "run": f"runs/{planned}",
        "conversations": f"runs/{done}?tab=conversations",
        "waiting": "waiting",
        "agent": "agents/traveller",
        "evaluation": "evaluations/gpt-5.4?with=qwen3",
        "models": "models",
        "stores": "stores",
    }
    for name, view in views.items():
        page.goto(f"{office.pages}#/{view}")
        wait_until_drawn(page)
        if name == "waiting":
            page.get_by_role("button").filter(has_text="To the sea").click()
        page.screenshot(path=place / f"{name}.png")
    context.close()

    sizes = {name: (place / f"{name}.png").stat().st_size for name in views}
    assert all(10_000 < size < 200_000 for size in sizes.values()), sizes


def wait_until_drawn(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    if page.url.endswith("models"):
        expect(page.locator("canvas")).to_have_count(4)
