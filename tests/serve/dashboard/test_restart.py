"""Runs that waited as their server ended, in the browser after its restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, Page, expect

from tactician.stores import SqliteStore
from tests.serve.dashboard.office import Office, open_office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

PAINTER = "Painter"
WISHES = {"Cashier": "Pay for the hotel", "Traveller": "Somewhere warm"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


@pytest.fixture
def runs_before(store: str) -> dict[str, str]:
    """Runs that wait, and one that has completed, by their agents."""
    with open_office(has_evil=False, store=SqliteStore(store)) as office:
        runs = {agent: office.start_run(agent.lower(), wish) for agent, wish in WISHES.items()}
        for run_id in runs.values():
            office.wait_for(run_id, "waiting")
        runs[PAINTER] = office.start_run("painter", "A square")
        office.wait_for(runs[PAINTER], "completed")
    return runs


@pytest.fixture
def office(store: str, runs_before: dict[str, str]) -> Iterator[Office]:
    with open_office(has_evil=False, store=SqliteStore(store)) as opened:
        yield opened


def find_bars(page: Page, agent: str) -> Locator:
    return page.get_by_role("treeitem").filter(has_text=f"run {agent}").first.locator(".bar")


@pytest.mark.parametrize("agent", WISHES)
def test_a_run_that_waits_does_not_look_as_if_it_ran(
    office: Office, runs_before: dict[str, str], open_page: OpenPage, agent: str
) -> None:
    page = open_page(f"runs/{runs_before[agent]}")
    expect(page.get_by_role("treeitem").first).to_contain_text("waiting")
    expect(find_bars(page, agent)).to_have_count(1)
    expect(page.locator(".bar.live")).to_have_count(0)


def test_the_time_in_which_a_run_waited_is_no_work(
    office: Office, runs_before: dict[str, str], open_page: OpenPage
) -> None:
    run_id = runs_before["Cashier"]
    (request,) = office.wait_for(run_id, "waiting")["pending"]
    office.call("POST", f"/api/runs/{run_id}/answers", {"request": request["id"], "response": True})
    office.wait_for(run_id, "completed")
    page = open_page(f"runs/{run_id}")
    expect(page.get_by_role("treeitem").first).to_contain_text("completed")
    expect(find_bars(page, "Cashier")).to_have_count(2)
    expect(page.locator(".bar.live")).to_have_count(0)


def test_pictures_are_shown(office: Office, runs_before: dict[str, str], open_page: OpenPage) -> None:
    page = open_page(f"runs/{runs_before[PAINTER]}?tab=conversations")
    picture = page.get_by_role("log").get_by_role("img", name="Picture")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => [image.naturalWidth, image.src.split(':')[0]]") == [40, "blob"]
