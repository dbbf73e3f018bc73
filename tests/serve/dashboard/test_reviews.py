"""People review phases, by keyboard too, and read what happens when they do not, or when others are faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import Route, expect

from tactician import Ensemble, Phase, PhaseReview, Review, Task
from tactician.ensemble.reviews.review import OnTimeout
from tactician.testing import ScriptedModel
from tests.serve.dashboard.office import Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

EFFECTS: Final[dict[OnTimeout, str]] = {
    "continue": "it counts as approved",
    "exit_early": "the run ends early, with what is done until then",
    "reject": "it counts as rejected, and fails",
}


@pytest.fixture(autouse=True, scope="module")
def register_agents(office: Office) -> None:
    """Registers ensembles whose phases or tasks are reviewed."""
    model = ScriptedModel(*["Frogs are nice."] * 1000)
    analysis = Phase("analysis", [Task("Analyse {topic}", id="analyse")])
    draft = Phase("draft", [Task("Draft", id="draft")], after=[analysis], review=PhaseReview.by_person())
    office.platform.register(Ensemble("Phases", phases=[analysis, draft], model=model))
    for effect in EFFECTS:
        review = Review.after("Good?", timeout=600, on_timeout=effect)
        office.platform.register(Ensemble(effect, [Task("Write about {topic}", review=review)], model=model))


@pytest.fixture
def phases(office: Office) -> str:
    run_id = office.start_run("phases", {"topic": "frogs"})
    office.wait_for(run_id, "waiting")
    return run_id


def find_decisions(office: Office, run_id: str) -> list[tuple[str, str]]:
    events = office.call("GET", f"/api/runs/{run_id}/trace").json()["nodes"]
    reviews = [node for node in events if "decision" in node["facts"]]
    return [(node["facts"]["decision"], node["content"].get("feedback", "")) for node in reviews]


class TestPhases:
    def test_a_person_decides_with_buttons_and_reads_a_question_for_people(
        self, office: Office, open_page: OpenPage, phases: str
    ) -> None:
        page = open_page("waiting")
        expect(page.locator(".prompt")).to_contain_text("Is the phase 'draft' good enough?")
        expect(page.locator(".prompt")).not_to_contain_text("APPROVE")
        expect(page.get_by_role("group", name="Decision").get_by_role("button")).to_have_text(
            ["Approve", "Try again", "Try an earlier phase again", "Reject"]
        )
        page.get_by_role("button", name="Try an earlier phase again").click()
        page.get_by_label("What has to change").fill("Look at toads")
        page.get_by_role("button", name="Let the earlier phase try again").click()
        expect(page.get_by_role("status").first).to_contain_text("Answered")
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        page.get_by_role("button", name="Approve").click()
        office.wait_for(phases, "completed")

        assert ("retry_predecessor", "Look at toads") in find_decisions(office, phases)

    def test_by_keyboard(self, office: Office, open_page: OpenPage, phases: str) -> None:
        page = open_page("waiting")
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        page.keyboard.press("t")
        expect(page.get_by_label("What has to change")).to_be_focused()
        page.keyboard.type("Say something new")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").first).to_contain_text("Answered")
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        page.keyboard.press("r")
        page.keyboard.type("Too long")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").first).to_contain_text("Answered")
        office.wait_for(phases, "failed")

        assert find_decisions(office, phases)[-2:] == [("retry", "Say something new"), ("reject", "Too long")]


class TestKeys:
    def test_enter_leads_to_the_answer_after_j_and_k(self, office: Office, open_page: OpenPage) -> None:
        for _ in range(2):
            office.wait_for(office.start_run("newsroom", {"topic": "frogs"}), "waiting")
        page = open_page("waiting")
        rows = page.get_by_role("list", name="Open requests").get_by_role("button")
        expect(rows).to_have_count(2)
        page.keyboard.press("j")
        expect(rows.nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Approve")).to_be_focused()

    @pytest.mark.parametrize(("key", "label"), [("t", "What has to change"), ("e", "New text")])
    def test_a_text_is_sent_with_control_and_enter(
        self, office: Office, open_page: OpenPage, key: str, label: str
    ) -> None:
        office.wait_for(office.start_run("newsroom", {"topic": "frogs"}), "waiting")
        page = open_page("waiting")
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        page.keyboard.press(key)
        page.get_by_label(label).fill("Frogs hear.")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").first).to_contain_text("Answered")


class TestDeadlines:
    @pytest.mark.parametrize(("effect", "words"), EFFECTS.items())
    def test_what_happens_when_nobody_answers_is_said(
        self, office: Office, open_page: OpenPage, effect: str, words: str
    ) -> None:
        office.wait_for(office.start_run(effect, {"topic": "frogs"}), "waiting")
        page = open_page("waiting")
        expect(page.locator(".detail .facts")).to_contain_text(words)
        expect(page.locator(".detail .badge")).to_have_text("review")

    def test_a_text_outlives_its_request(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("newsroom", {"topic": "frogs"})
        (request,) = office.wait_for(run_id, "waiting")["pending"]
        page = open_page("waiting")
        page.get_by_role("button", name="Try again").click()
        page.get_by_label("What has to change").fill("Say something new")
        body = {"request": request["id"], "response": {"decision": "approve"}}
        office.call("POST", f"/api/runs/{run_id}/answers", body)
        expect(page.get_by_role("alert")).to_contain_text("Somebody else has answered this")
        expect(page.get_by_label("What has to change")).to_have_value("Say something new")
        expect(page.get_by_role("button", name="Let it try again")).to_be_disabled()
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_text("Nothing waits for an answer.")).to_be_visible()

    def test_somebody_is_faster_while_the_network_is_slow(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("newsroom", {"topic": "frogs"})
        (request,) = office.wait_for(run_id, "waiting")["pending"]
        page = open_page("waiting")
        page.get_by_role("button", name="Edit", exact=True).click()
        page.get_by_label("New text").fill("Frogs hear.")
        page.route("**/api/requests", lambda route: route.abort())
        body = {"request": request["id"], "response": {"decision": "approve"}}
        office.call("POST", f"/api/runs/{run_id}/answers", body)
        page.get_by_role("button", name="Continue with this text").click()
        expect(page.get_by_role("alert").filter(has_text="Somebody else has answered this")).to_be_visible()
        expect(page.get_by_label("New text")).to_have_value("Frogs hear.")

    def test_an_answer_that_is_on_its_way_is_nobody_elses(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("newsroom", {"topic": "frogs"})
        office.wait_for(run_id, "waiting")
        page = open_page("waiting")
        routes: list[Route] = []
        page.route("**/answers", lambda route: routes.append(route))
        page.get_by_role("button", name="Edit", exact=True).click()
        page.get_by_label("New text").fill("Frogs hear.")
        page.get_by_role("button", name="Continue with this text").click()
        expect(page.get_by_role("button", name="Continue with this text")).to_be_disabled()
        response = routes[0].fetch()  # the server has the answer, and the page not yet the response
        expect(page.locator(".queue-row").filter(has_text="newsroom")).to_have_count(0)
        expect(page.get_by_label("New text")).to_have_value("Frogs hear.")
        expect(page.get_by_role("alert")).to_have_count(0)
        routes[0].fulfill(response=response)
        expect(page.get_by_role("status")).to_contain_text("Answered: ")

    def test_the_time_is_over(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("continue", {"topic": "frogs"})
        office.wait_for(run_id, "waiting")
        page = open_page()
        page.clock.install()
        page.goto(f"{office.pages}#/waiting")
        page.get_by_role("button", name="Try again").click()
        page.get_by_label("What has to change").fill("Say something new")
        page.route("**/api/requests", lambda route: route.fulfill(json={"requests": [], "roles": []}))
        page.clock.fast_forward(601_000)
        page.clock.run_for(20_000)
        expect(page.get_by_role("alert")).to_contain_text("The time to answer is over: it counts as approved.")
        expect(page.get_by_label("What has to change")).to_have_value("Say something new")
