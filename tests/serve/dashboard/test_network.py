"""Pages show what is, however late, often or seldom the network lets answers through."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Semaphore
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tactician import UserInput, achieves_goal, action, planned_agent
from tests.serve.api.serving import Json
from tests.serve.dashboard.office import Bus, Office, Train

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

_STEPS: Final = Semaphore(0)


@planned_agent(name="Stepper", description="Waits before each step")
class Stepper:
    @action
    async def first(self, wish: UserInput) -> Train:
        await asyncio.to_thread(_STEPS.acquire)
        return Train(number=wish.content)

    @achieves_goal("There")
    @action
    async def second(self, train: Train) -> Bus:
        await asyncio.to_thread(_STEPS.acquire)
        return Bus(number=train.number)


@pytest.fixture(autouse=True, scope="module")
def register_agents(office: Office) -> Iterator[None]:
    """Registers the agent, and lets all of its runs end."""
    office.platform.register(Stepper())
    yield
    _STEPS.release(100)


@dataclass(frozen=True)
class View:
    """View that shows a run.

    Attributes:
        address: address of the view.
        path: path of the answers that it depends on.
        agent: agent whose run it shows.
        before: text that it shows of the run at first.
        after: text that it shows in the end.
    """

    address: str
    path: str
    agent: str = "stepper"
    before: str = "running"
    after: str = "completed"


VIEWS: Final = {
    "run": View("runs/{run}", "/api/runs/{run}/details"),
    "list": View("runs", "/api/runs**"),
    "search": View("runs?search={run}", "/api/runs**"),
    "agent": View("agents/stepper", "/api/runs**"),
    "queue": View("waiting", "/api/requests", "cashier", "May pay(", "Nothing waits for an answer."),
}


class Network:
    """What a test does to the requests of a page: nothing, until it says otherwise."""

    def __init__(self, page: Page, pattern: str) -> None:
        self.failures = 0
        self.status: int | None = None
        self.is_holding = False
        self.held: list[tuple[Route, Json]] = []
        page.route(pattern, self._handle)

    def fail(self, times: int, status: int | None = None) -> None:
        """Let the next requests fail: without an answer, or with a status."""
        self.failures, self.status = times, status

    def release(self) -> None:
        """Give out the answers that were held, as they were when the server gave them."""
        self.is_holding = False
        for route, answer in self.held:
            route.fulfill(json=answer)

    def _handle(self, route: Route) -> None:
        if self.is_holding:
            self.held.append((route, route.fetch().json()))
        elif self.failures == 0:
            route.continue_()
        else:
            self.failures -= 1
            if self.status is None:
                route.abort()
            else:
                route.fulfill(status=self.status, json={"error": {"message": "Too busy."}})


class Scene:
    """A run, and a page that shows it."""

    def __init__(self, office: Office, open_page: OpenPage, view: View) -> None:
        self.office, self.view = office, view
        self.run = office.start_run(view.agent, "Go")
        office.wait_for(self.run, "running", "waiting")
        self.page: Page = open_page(view.address.format(run=self.run))
        self.network = Network(self.page, f"**{view.path.format(run=self.run)}")
        expect(self.find(view.before)).to_be_visible()

    def find(self, text: str) -> Locator:
        """Return where the page shows a text of the run."""
        place: Page | Locator = self.page
        if self.view.path == "/api/runs**":
            place = self.page.get_by_role("row").filter(has=self.page.locator(f'a[href$="{self.run}"]'))
        elif self.view.address.startswith("runs/"):
            place = self.page.locator(".page-head")
        return place.get_by_text(text).first

    def make_news(self) -> None:
        """Let something happen that makes the page read, before the end of the run."""
        if self.view.agent == "stepper":
            _STEPS.release()
        else:
            self.office.wait_for(self.office.start_run("cashier", "Pay"), "waiting")

    def end_run(self) -> None:
        """Let everything end."""
        if self.view.agent == "stepper":
            _STEPS.release(2)
            self.office.wait_for(self.run, "completed")
            return
        for entry in self.office.call("GET", "/api/requests").json()["requests"]:
            body = {"request": entry["request"]["id"], "response": True}
            assert self.office.call("POST", f"/api/runs/{entry['run_id']}/answers", body).status_code == 200

    def expect_end(self) -> None:
        """Expect the page to show the end of the run."""
        expect(self.find(self.view.after)).to_be_visible(timeout=12_000)  # sooner than the page looks by itself
        expect(self.find(self.view.before)).to_have_count(0)


@pytest.fixture(params=VIEWS)
def scene(request: pytest.FixtureRequest, office: Office, open_page: OpenPage) -> Scene:
    while _STEPS.acquire(blocking=False):
        pass
    return Scene(office, open_page, VIEWS[request.param])


def wait_for_request(page: Page, network: Network) -> None:
    """Wait until the network holds a request."""
    while not network.held:
        page.wait_for_timeout(20)


def test_an_answer_from_before_the_end_comes_after_it(scene: Scene) -> None:
    scene.network.is_holding = True
    scene.make_news()
    wait_for_request(scene.page, scene.network)
    scene.end_run()
    events = scene.page.evaluate("performance.now()")
    scene.page.wait_for_function("start => performance.now() > start + 900", arg=events)  # all events have come
    scene.network.release()
    scene.expect_end()


def test_reads_that_fail_are_repeated(scene: Scene) -> None:
    scene.network.fail(3)
    scene.end_run()
    scene.expect_end()
    assert scene.network.failures == 0


def test_the_server_refuses_for_a_while(scene: Scene) -> None:
    scene.network.fail(2, status=503)
    scene.end_run()
    scene.expect_end()
    assert scene.network.failures == 0
    expect(scene.page.get_by_text("Too busy.")).to_have_count(0)


def test_the_network_is_gone_when_the_run_ends(scene: Scene) -> None:
    scene.page.context.set_offline(True)
    scene.end_run()
    scene.page.context.set_offline(False)
    scene.expect_end()


def test_a_page_says_in_words_that_the_server_is_gone(open_page: OpenPage) -> None:
    page = open_page("agents")
    page.route("**/api/requests", lambda route: route.abort())
    page.get_by_role("link", name="Waiting").click()
    page.reload()
    expect(page.get_by_role("alert")).to_have_text("The server cannot be reached. Trying again…")


def test_an_old_answer_does_not_replace_a_newer_one(office: Office, open_page: OpenPage) -> None:
    """The list asks first, and is answered last, when the page of the run has the end already."""
    run = office.start_run("stepper", "Go")
    office.wait_for(run, "running")
    page = open_page("agents")
    network = Network(page, "**/api/runs?limit=1000**")
    network.is_holding = True
    page.goto(f"{office.pages}#/runs/{run}")
    page.reload()
    expect(page.get_by_text("running").first).to_be_visible()
    wait_for_request(page, network)
    _STEPS.release(2)
    expect(page.get_by_text("completed").first).to_be_visible()
    with page.expect_response("**/api/runs?limit=1000**", timeout=30_000):
        network.release()
    page.goto(f"{office.pages}#/runs")
    row = page.get_by_role("row").filter(has=page.locator(f'a[href$="{run}"]'))
    expect(row).to_contain_text("completed")
