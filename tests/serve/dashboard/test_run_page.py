"""The page of a run: its parts by keyboard, long runs, and chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from tactician import Agent, UserInput, achieves_goal, action, planned_agent, tool
from tactician.llm import ToolCall
from tests.serve.dashboard.office import Office, TurnModel
from tests.support.effort import EFFORT

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

TURNS: Final = 100 if EFFORT == 1 else 1250
MOST_ELEMENTS: Final = 1200
"""Elements in a page, however long the run."""


@tool
def tick(number: int) -> str:
    """Tick."""
    return f"tick {number}"


@pytest.fixture(autouse=True, scope="module")
def register_agents(office: Office) -> None:
    """Registers an agent that makes long runs, and one that chats."""
    calls = [ToolCall(f"call-{number}", "tick", f'{{"number": {number}}}') for number in range(TURNS)]
    runner = Agent("Runner", model=TurnModel("legs", *calls, "There."), tools=[tick], max_turns=TURNS + 1)
    greeter = Agent("Greeter", model=TurnModel("voice", "Hello.", "Hello again."))
    office.platform.register(runner, greeter)


class TestParts:
    def test_they_are_chosen_by_keyboard(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("greeter", "Good morning")
        office.wait_for(run_id, "completed")
        page = open_page(f"runs/{run_id}")
        tree = page.get_by_role("tree", name="What the run did")
        expect(tree.get_by_role("treeitem")).to_have_count(2)
        tree.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        detail = page.get_by_role("region", name="model voice")
        expect(detail).to_contain_text("Good morning")
        expect(detail).to_contain_text("Hello.")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowLeft")
        expect(tree.get_by_role("treeitem")).to_have_count(1)

    def test_tabs_change_with_the_arrow_keys_and_stay_after_a_reload(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("greeter", "Good morning")
        office.wait_for(run_id, "completed")
        page = open_page(f"runs/{run_id}")
        page.get_by_role("tab", name="Overview").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("log")).to_contain_text("Good morning")
        page.reload()
        expect(page.get_by_role("tab", name="Conversations")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("log")).to_contain_text("Hello.")


class TestLength:
    @pytest.mark.soak
    def test_a_long_run_has_all_its_events_and_few_elements(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("runner", "Go")
        page = open_page(f"runs/{run_id}?tab=events")
        events = 2 + 4 * TURNS + 2
        expect(page.get_by_role("tab", name="Events")).to_contain_text(str(events), timeout=60_000)
        page.get_by_placeholder(f"Search {events} events").fill("RunEnded")
        expect(page.get_by_role("button", name="RunEnded")).to_be_visible()
        page.get_by_role("tab", name="Overview").click()
        page.get_by_role("tree").focus()
        for _ in range(3):
            page.keyboard.press("PageDown")
        expect(page.get_by_role("treeitem").nth(30)).to_be_attached()

        assert page.locator("*").count() < MOST_ELEMENTS


def test_tokens_and_cost_rise_while_a_step_runs(office: Office, open_page: OpenPage) -> None:
    slow = office.platform.find_agent("Slow")

    @planned_agent(name="Asker", description="Asks an agent that waits")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, wish: UserInput) -> str:
            return str((await slow.run(wish.content)).output)

    office.platform.register(Asker())
    run_id = office.start_run("asker", {"content": "wait"})
    page = open_page(f"runs/{run_id}")
    facts = page.locator(".facts").first
    expect(facts).to_contain_text("1,500")
    assert office.call("GET", f"/api/runs/{run_id}").json()["status"] == "running"
    expect(facts).to_contain_text("$0.0048")
