"""The list of runs has all runs of the store: others are read when somebody scrolls, and the server searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.serve.dashboard.office import Office, open_office
from tests.serve.dashboard.test_speed import fill

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

RUNS = 1300


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with open_office() as opened:
        opened.run(fill(opened, 0, RUNS))
        yield opened


def test_the_server_searches_what_the_page_does_not_know(open_page: OpenPage) -> None:
    page = open_page("runs")
    expect(page.get_by_role("button", name=f"all {RUNS}")).to_be_visible()  # as the server counts them
    page.get_by_role("searchbox").fill("verse 17")
    table = page.get_by_role("table", name="Runs")
    count = sum("17" in f"{number:05}" for number in range(RUNS))
    expect(table).to_have_attribute("aria-rowcount", str(count + 1))
    page.get_by_role("searchbox").fill("r00171")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table).to_contain_text("verse 171")
    page.get_by_role("searchbox").fill("no such run")
    expect(page.get_by_text("No run matches “no such run”")).to_be_visible()
    page.get_by_role("button", name="failed 0").click()
    expect(page.get_by_text("No failed run matches “no such run”")).to_be_visible()
    page.get_by_role("link", name="Show all runs").click()
    expect(page.get_by_role("searchbox")).to_have_value("")
    expect(table).to_have_attribute("aria-rowcount", "1001")


def test_older_runs_are_read_when_somebody_scrolls(open_page: OpenPage) -> None:
    page = open_page("runs")
    table = page.get_by_role("table", name="Runs")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    table.evaluate(
        """table => {
            let scroller = table;
            while (!/auto|scroll/.test(getComputedStyle(scroller).overflowY)) scroller = scroller.parentElement;
            scroller.scrollTop = scroller.scrollHeight;
        }"""
    )
    expect(table).to_have_attribute("aria-rowcount", str(RUNS + 1))
    expect(page.get_by_role("button", name=f"all {RUNS}", exact=True)).to_be_visible()


def test_back_leads_to_the_place_in_the_list(open_page: OpenPage) -> None:
    page = open_page("runs")
    table = page.get_by_role("table", name="Runs")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    page.locator("main").evaluate("content => { content.scrollTop = 20000; }")
    link = page.get_by_role("row").nth(12).get_by_role("link")
    address = link.get_attribute("href")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Run")
    assert page.locator("main").evaluate("content => content.scrollTop") == 0
    page.go_back()
    expect(table).to_have_attribute("aria-rowcount", "1001")
    expect(page.locator(f'a[href="{address}"]')).to_be_in_viewport()
