"""People who may only see, or see and start: the page has no buttons for the rest, and the server refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.serve.dashboard.office import CARL, DORA, Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


class TestWhoeverMayOnlySee:
    def test_a_run_is_not_started(self, office: Office, open_page: OpenPage) -> None:
        page = open_page("agents/traveller", token=CARL)
        expect(page.get_by_role("note")).to_contain_text("the right “start”")
        expect(page.get_by_role("button", name="Start run")).to_have_count(0)
        refused = office.call("POST", "/api/agents/traveller/runs", {"input": "Somewhere warm"}, token=CARL)
        assert (refused.status_code, "This needs the right 'start'." in refused.text) == (403, True)

        page.get_by_role("link", name="Models").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Models")
        assert office.call("GET", "/api/runs?agent=Traveller&status=running").json()["runs"] == []

    def test_a_run_is_seen_but_not_cancelled(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("cashier", "Pay")
        office.wait_for(run_id, "waiting")
        page = open_page(f"runs/{run_id}", token=CARL)
        expect(page.get_by_text("Waits for").first).to_be_visible()
        expect(page.get_by_role("button", name="Cancel run")).to_have_count(0)
        refused = office.call("DELETE", f"/api/runs/{run_id}", token=CARL)
        assert (refused.status_code, "This needs the right 'start'." in refused.text) == (403, True)

        office.call("DELETE", f"/api/runs/{run_id}")
        expect(page.get_by_text("cancelled by Anna").first).to_be_visible()  # the page goes on


class TestWhoeverMayStart:
    def test_what_is_started_is_not_answered(self, office: Office, open_page: OpenPage) -> None:
        page = open_page("agents/traveller", token=DORA)
        page.get_by_label("Request").fill("Somewhere warm")
        page.get_by_role("button", name="Start run").click()
        expect(page.get_by_text("Where to, and for how long? Somewhere warm").first).to_be_visible()

        run_id = office.start_run("cashier", "Pay")
        office.wait_for(run_id, "waiting")
        waiting = open_page("waiting", token=DORA)
        waiting.get_by_role("list", name="Open requests").get_by_role("button").filter(has_text="Cashier").first.click()
        expect(waiting.get_by_role("note")).to_contain_text("answer")
        expect(waiting.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        request = office.call("GET", f"/api/runs/{run_id}").json()["pending"][0]["id"]
        refused = office.call("POST", f"/api/runs/{run_id}/answers", {"request": request, "response": True}, token=DORA)
        assert refused.status_code == 403
        assert "This needs the right 'answer'." in refused.text
        assert office.call("GET", f"/api/runs/{run_id}").json()["status"] == "waiting"

        office.call("DELETE", f"/api/runs/{run_id}")
        expect(waiting.get_by_role("button").filter(has_text="Cashier")).to_have_count(0)  # the page goes on
