"""People who may start and answer, but not see everything, use the dashboard for their own runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tactician.serve import Person
from tests.serve.dashboard.office import PEOPLE, Office, open_office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

EMMA = "emma-has-a-secret-token"
FRED = "fred-has-a-secret-token"


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    people = {EMMA: Person("Emma", rights=frozenset({"start", "answer"})), FRED: Person("Fred", rights=frozenset())}
    PEOPLE.update(people)
    with open_office() as opened:
        yield opened
    for token in people:
        del PEOPLE[token]


def test_a_person_starts_a_run_sees_it_and_answers(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents", token=EMMA)
    page.get_by_role("link", name="Cashier").first.click()
    page.get_by_label("Request").fill("Pay")
    page.get_by_role("button", name="Start run").click()
    expect(page.locator(".page-head")).to_contain_text("waiting")
    page.get_by_role("link", name="Answer").click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_role("row").filter(has_text="Cashier")).to_contain_text("completed")


@pytest.mark.parametrize("view", ["runs", "agents", "models", "stores"])
def test_what_a_person_may_not_see_is_said(office: Office, open_page: OpenPage, view: str) -> None:
    page = open_page(view, token=FRED)
    expect(page.get_by_role("alert").first).to_contain_text("This needs the right")
    expect(page.get_by_text("Loading…")).to_have_count(0)
