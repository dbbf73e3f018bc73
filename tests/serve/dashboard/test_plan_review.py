"""Plans that people review: asked for over HTTP and in the browser, answered there; expectations and experience."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect
from pydantic import BaseModel

from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.planning import MEASURED, Objective
from tests.serve.dashboard.office import BERT, Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


class Check(BaseModel):
    text: str


class Invoice(BaseModel):
    text: str


@planned_agent(name="Refunder", description="Pays money back")
class Refunder:
    @action(cost=MEASURED)
    def look_up(self, wish: UserInput) -> Invoice:
        return Invoice(text=wish.content)

    @action(cost=0.9)
    def ask_archive(self, wish: UserInput) -> Invoice:
        return Invoice(text=f"old {wish.content}")

    @action(cost=0.1)
    def verify(self, invoice: Invoice) -> Check:
        return Check(text=f"checked {invoice.text}")

    @achieves_goal("The money is paid back")
    @action
    def pay_out(self, invoice: Invoice) -> str:
        return f"paid {invoice.text}"


@pytest.fixture(scope="module", autouse=True)
def _agents(office: Office) -> Iterator[None]:
    office.platform.register(Refunder())
    yield
    office.platform.unregister("Refunder")


def start(office: Office, **options: object) -> str:
    done = office.call("POST", "/api/agents/refunder/runs", {"input": "17", **options})
    assert done.status_code == 202, done.text
    run_id: str = done.json()["id"]
    return run_id


def decide(office: Office, run_id: str, response: object) -> None:
    (request,) = office.wait_for(run_id, "waiting")["pending"]
    answer = {"request": request["id"], "response": response}
    assert office.call("POST", f"/api/runs/{run_id}/answers", answer).status_code == 200


def list_actions(office: Office, run_id: str) -> list[str]:
    history = office.call("GET", f"/api/runs/{run_id}/details").json()["history"]
    return [entry["name"].rpartition(".")[2] for entry in history if "review" not in entry["name"]]


class TestHttp:
    def test_a_review_with_role_deadline_and_default(self, office: Office) -> None:
        terms = {"role": "editor", "seconds": 3600, "default": "approve"}
        run_id = start(office, plan_review=terms)
        (request,) = office.wait_for(run_id, "waiting")["pending"]
        assert (request["role"], request["default"]["approved"]) == ("editor", True)
        assert request["deadline"] is not None
        answer = {"request": request["id"], "response": {"approved": True}}
        assert office.call("POST", f"/api/runs/{run_id}/answers", answer, token=BERT).status_code == 403
        decide(office, run_id, {"approved": True})
        assert office.wait_for(run_id, "completed")["result"] == "paid 17"

    def test_a_decision_forbids_demands_and_edits(self, office: Office) -> None:
        run_id = start(office, plan_review={})
        decide(office, run_id, {"approved": False, "forbid": ["look_up"], "demand": ["verify"]})
        decide(office, run_id, {"approved": True})
        assert office.wait_for(run_id, "completed")["result"] == "paid old 17"
        assert sorted(list_actions(office, run_id)) == ["ask_archive", "pay_out", "verify"]

    def test_plans_that_are_expected_to_cost_little_need_no_decision(self, office: Office) -> None:
        office.wait_for(start(office), "completed")  # what its actions cost is measured then
        run_id = start(office, plan_review={"above_dollars": 5})
        assert office.wait_for(run_id, "completed")["result"] == "paid 17"

    def test_rules_and_an_objective_of_a_run(self, office: Office) -> None:
        run_id = start(office, rules=['before("verify", "pay_out")'], objective="time")
        office.wait_for(run_id, "completed")
        assert list_actions(office, run_id)[-2:] == ["verify", "pay_out"]
        process = office.run(office.platform.process(run_id))
        assert process.options.objective == Objective.TIME

    @pytest.mark.parametrize(
        ("options", "place"),
        [
            ({"rules": ["os.remove('x')"]}, "is no rule"),
            ({"objective": "fame"}, "objective"),
            ({"plan_review": {"seconds": -1}}, "plan_review.seconds"),
            ({"plan_review": {"above_dollars": -1}}, "plan_review.above_dollars"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, office: Office, options: dict[str, object], place: str) -> None:
        refused = office.call("POST", "/api/agents/refunder/runs", {"input": "17", **options})
        assert (refused.status_code, place in refused.text) == (422, True), refused.text


def ask_for_review(page: Page) -> None:
    page.get_by_label("Request").fill("17")
    page.get_by_text("Planning").click()
    page.get_by_label("Ask a person about each plan").check()


def test_a_review_is_asked_for_and_answered_in_the_browser(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/refunder")
    ask_for_review(page)
    page.get_by_label("Role of the person").fill("editor")
    page.get_by_label("Minutes to wait").fill("60")
    page.get_by_role("button", name="Start run").click()
    page.get_by_role("link", name="Answer").click()
    expect(page.get_by_text("the plan counts as rejected")).to_be_visible()
    page.get_by_role("button", name="Forbid or demand actions").click()
    page.get_by_label("look_up").check()
    page.get_by_label("Rule").fill('before("verify", "pay_out")')
    page.get_by_role("button", name="Plan again").click()

    expect(page.get_by_text("Plan of Refunder: ask_archive, then verify, then pay_out").first).to_be_visible()
    page.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Refunder")
    page.get_by_role("link", name="Answer").click()
    page.get_by_role("button", name="Edit the steps").click()
    expect(page.get_by_label("Steps, one a line")).to_have_value("ask_archive\nverify\npay_out")
    page.get_by_role("button", name="Follow these steps").click()
    expect(page.get_by_text("Nothing waits for an answer.")).to_be_visible()
    (run,) = office.call("GET", "/api/runs?agent=Refunder&limit=1").json()["runs"]
    assert office.wait_for(run["id"], "completed")["result"] == "paid old 17"


def test_a_plan_is_rejected_with_a_reason_and_others_have_no_buttons(office: Office, open_page: OpenPage) -> None:
    run_id = start(office, plan_review={"role": "editor"})
    office.wait_for(run_id, "waiting")
    other = open_page(f"waiting?run={run_id}", token=BERT)
    expect(other.get_by_role("note")).to_contain_text("editor")
    expect(other.get_by_role("button", name="Approve")).to_have_count(0)
    page = open_page(f"waiting?run={run_id}")
    page.get_by_role("button", name="Reject…").click()
    page.get_by_label("Why not").fill("no refunds today")
    page.get_by_role("button", name="Reject", exact=True).click()
    assert "no refunds today" in office.wait_for(run_id, "stuck")["failure"]


def test_expectations_stand_beside_the_plan_and_experience_has_a_page(office: Office, open_page: OpenPage) -> None:
    for _ in range(2):
        office.wait_for(start(office), "completed")
    run_id = start(office)
    office.wait_for(run_id, "completed")
    (plan,) = office.call("GET", f"/api/runs/{run_id}/plans").json()["plans"]
    assert plan["expected"]["success"] == 1.0
    assert [slot["action"] for slot in plan["expected"]["timeline"]] == ["look_up", "pay_out"]
    page = open_page(f"runs/{run_id}")
    expect(page.get_by_role("group", name="Expected")).to_contain_text("chance 100 %")

    page = open_page("experience")
    row = page.get_by_role("table", name="Actions").get_by_role("row").filter(has_text="look_up")
    expect(row).to_contain_text("100 %")
    listed = office.call("GET", "/api/experience").json()["experience"]
    assert {(entry["agent"], entry["name"]) for entry in listed} >= {("Refunder", "look_up"), ("Refunder", "pay_out")}


def test_the_navigation_of_a_phone_is_whole(open_page: OpenPage) -> None:
    page = open_page("agents", width=390)
    for name in ("Runs", "Evaluations", "Experience", "Stores"):
        link = page.get_by_role("navigation", name="Views").get_by_role("link", name=name).bounding_box()
        assert link is not None
        assert link["x"] >= 0
        assert link["x"] + link["width"] <= 390, name
