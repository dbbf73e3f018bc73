"""The timeline of runs that wait for people, and of steps that gave nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tactician import Ensemble, Phase, Review, Task
from tactician.testing import ScriptedModel
from tests.serve.dashboard.office import Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


@pytest.fixture(autouse=True, scope="module")
def register_agents(office: Office) -> None:
    """Registers an ensemble with two phases, the first of which a person reviews."""
    task = Task("Analyse {topic}", id="analyse", review=Review.after("Good?"))
    analysis = Phase("analysis", [task])
    report = Phase("reporting", [Task("Report", id="report")], after=[analysis])
    model = ScriptedModel(*["Frogs are nice."] * 100)
    office.platform.register(Ensemble("Analysts", phases=[analysis, report], model=model))


def find_rows(page: Page, kind: str) -> Locator:
    return page.get_by_role("treeitem").filter(has=page.locator(f'.kind[data-kind="{kind}"]'))


def answer(office: Office, run_id: str, decision: dict[str, str]) -> None:
    (request,) = office.wait_for(run_id, "waiting")["pending"]
    done = office.call("POST", f"/api/runs/{run_id}/answers", {"request": request["id"], "response": decision})
    assert done.status_code == 200


@pytest.mark.parametrize("is_late", [False, True], ids=["live", "late"])
def test_what_waits_for_a_person_waits_and_goes_on(office: Office, open_page: OpenPage, is_late: bool) -> None:
    run_id = office.start_run("analysts", {"topic": "frogs"})
    office.wait_for(run_id, "waiting")
    page = open_page(f"runs/{run_id}")
    for kind in ("run", "phase", "task", "review"):
        expect(find_rows(page, kind).first).to_contain_text("waiting")
    expect(page.get_by_role("tree")).not_to_contain_text("cancelled")

    answer(office, run_id, {"decision": "retry", "feedback": "more"})
    expect(find_rows(page, "review")).to_have_count(2)
    answer(office, run_id, {"decision": "approve"})
    office.wait_for(run_id, "completed")
    if is_late:
        page.reload()
    expect(find_rows(page, "phase")).to_have_count(2)
    expect(find_rows(page, "task")).to_have_count(2)
    for kind, name in (("phase", "analysis"), ("phase", "reporting"), ("task", "analyse"), ("task", "report")):
        expect(find_rows(page, kind).filter(has_text=name)).to_contain_text("completed")
    expect(find_rows(page, "task").first.locator(".bar")).to_have_count(3)
    expect(page.get_by_role("tree")).not_to_contain_text("cancelled")


def test_the_time_that_a_run_waited_counts(office: Office, open_page: OpenPage) -> None:
    run_id = office.start_run("analysts", {"topic": "frogs"})
    answer(office, run_id, {"decision": "approve"})
    office.wait_for(run_id, "completed")

    def begin_earlier(route: Route) -> None:
        details = route.fetch().json()
        run = details["run"]
        details["run"] |= {"started_at": run["changed_at"] - 210.0, "seconds": 3.2}
        route.fulfill(json=details)

    page = open_page()
    page.route("**/details", begin_earlier)
    page.goto(f"{office.pages}#/runs/{run_id}")
    expect(page.locator(".page-head")).to_contain_text("took 3 min 30 sworked 3.2 s")


def test_the_axis_says_when_work_went_on(office: Office, open_page: OpenPage) -> None:
    run_id = office.start_run("analysts", {"topic": "frogs"})
    answer(office, run_id, {"decision": "approve"})
    office.wait_for(run_id, "completed")

    def wait_longer(route: Route) -> None:
        """Put two minutes before the second stretch of work."""
        blocks, begun = [], 0
        for block in route.fetch().text().split("\n\n"):
            head, found, data = block.partition("data: ")
            event = json.loads(data) if found else {}
            begun += event.get("type") == "RunStarted" and len(event["path"]) == 1
            if begun > 1 and "time" in event:
                block = f"{head}{found}{json.dumps(event | {'time': event['time'] + 120})}"
            blocks.append(block)
        route.fulfill(body="\n\n".join(blocks), content_type="text/event-stream")

    page = open_page()
    page.route("**/events?brief=true", wait_longer)
    page.goto(f"{office.pages}#/runs/{run_id}")
    expect(page.locator(".tick")).to_have_text(["0", "2 min 0 s"])


def test_a_step_that_gave_nothing_looks_so(office: Office, open_page: OpenPage) -> None:
    run_id = office.start_run("traveller", "Somewhere warm")
    answer(office, run_id, {"city": "Rome"})
    page = open_page(f"runs/{run_id}")
    row = find_rows(page, "action").filter(has_text="find_train")
    expect(row).to_contain_text("gave nothing")
    expect(row.locator("[data-tone]").last).to_have_attribute("data-tone", "quiet")
    node = page.locator(".graph .node").filter(has_text="find_train")
    expect(node).to_contain_text("gave nothing")
    expect(node).to_have_attribute("data-tone", "quiet")
    expect(page.get_by_text("Replanned after find_train gave nothing.")).to_be_visible()
    expect(find_rows(page, "action").filter(has_text="find_bus")).to_contain_text("completed")
