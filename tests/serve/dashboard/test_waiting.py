"""People answer in the browser what runs wait for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from tests.serve.dashboard.office import BERT, Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


def choose(page: Page, agent: str) -> None:
    page.get_by_role("list", name="Open requests").get_by_role("button").filter(has_text=agent).first.click()


class TestForms:
    def test_a_form_with_objects_lists_and_bounds_is_filled_in(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("traveller", "Somewhere warm")
        page = open_page("waiting")
        choose(page, "Traveller")
        page.get_by_label("Nights").fill("99")
        page.get_by_role("button", name="Answer").click()
        expect(page.get_by_text("Fill this in.")).to_be_visible()
        expect(page.get_by_text("Enter at most 30.")).to_be_visible()
        expect(page.get_by_label("City")).to_be_focused()

        page.get_by_label("City").fill("Rome")
        page.get_by_label("Nights").fill("3")
        page.get_by_label("Comfort").select_option(label="first")
        page.get_by_role("button", name="Add to guests").click()
        guest = page.get_by_role("group", name="Guests 1")
        guest.get_by_label("Name").fill("Ada")
        guest.get_by_label("Age").fill("36")
        page.get_by_role("button", name="Add contact").click()
        page.get_by_role("group", name="Contact").get_by_label("Name").fill("Bob")
        page.get_by_role("group", name="Contact").get_by_label("Age").fill("40")
        page.get_by_label("Insurance").check()
        page.get_by_role("button", name="Answer").click()

        expect(page.get_by_text("There is only a bus.").first).to_be_visible()
        objects = office.call("GET", f"/api/runs/{run_id}/details").json()["objects"]
        trip = next(one["value"] for one in objects if one["type"].endswith("Trip"))
        assert trip == {
            "city": "Rome",
            "nights": 3,
            "comfort": "first",
            "guests": [{"name": "Ada", "age": 36}],
            "contact": {"name": "Bob", "age": 40},
            "insurance": True,
        }
        page.get_by_role("button", name="Yes").click()
        assert office.wait_for(run_id, "completed")["result"] == "Rome, 3 nights, 1 guests: bus to Rome"

    def test_what_the_server_refuses_is_said_and_can_be_corrected(self, office: Office, open_page: OpenPage) -> None:
        office.start_run("newsroom", {"topic": "frogs"})
        page = open_page("waiting")
        page.route("**/answers", lambda route: route.fulfill(status=422, json={"error": {"message": "Not like that."}}))
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("alert")).to_have_text("Not like that.")
        page.unroute("**/answers")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Nothing waits for an answer.")).to_be_visible()


class TestApprovals:
    def test_a_tool_is_approved_with_other_arguments(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("cashier", "Pay")
        page = open_page("waiting")
        expect(page.get_by_text("amount", exact=True)).to_be_visible()
        page.get_by_role("button", name="Change the arguments").click()
        page.get_by_label("Amount").fill("3")
        page.get_by_role("button", name="Approve with these arguments").click()
        office.wait_for(run_id, "completed")

        assert "paid 3 EUR" in office.call("GET", f"/api/runs/{run_id}/details").text

    def test_a_tool_is_rejected_with_a_reason(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("cashier", "Pay")
        page = open_page("waiting")
        page.get_by_role("button", name="Reject…").click()
        page.get_by_label("Why not").fill("Too dear")
        page.get_by_role("button", name="Reject", exact=True).click()
        office.wait_for(run_id, "completed")

        assert "Too dear" in office.call("GET", f"/api/runs/{run_id}/details").text


class TestReviews:
    def test_try_again_then_edit(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("newsroom", {"topic": "frogs"})
        page = open_page("waiting")
        expect(page.get_by_text(re.compile(r"9 min \d+ s left")).first).to_be_visible()
        page.get_by_role("button", name="Try again").click()
        page.get_by_label("What has to change").fill("Say something new")
        page.get_by_role("button", name="Let it try again").click()
        expect(page.locator(".prompt")).to_contain_text("Frogs hear with their lungs.")
        page.get_by_role("button", name="Edit", exact=True).click()
        expect(page.get_by_label("New text")).to_have_value("Frogs hear with their lungs.")
        page.get_by_label("New text").fill("Frogs hear with their lungs!")
        page.get_by_role("button", name="Continue with this text").click()

        assert "lungs!" in str(office.wait_for(run_id, "completed")["output"])


class TestTheKeyboard:
    def test_a_person_answers_without_a_mouse(self, office: Office, open_page: OpenPage) -> None:
        runs = [office.start_run("cashier", "Pay") for _ in range(2)]
        for run_id in runs:
            office.wait_for(run_id, "waiting")
        page = open_page("waiting")
        rows = page.get_by_role("list", name="Open requests").get_by_role("button")
        expect(rows).to_have_count(2)
        expect(page).to_have_title(re.compile(r"^\(2\) Waiting for people"))
        page.keyboard.press("j")
        expect(rows.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(rows.nth(0)).to_be_focused()
        page.keyboard.press("a")
        expect(rows).to_have_count(1)
        page.keyboard.press("r")
        expect(page.get_by_label("Why not")).to_be_focused()
        page.keyboard.type("a no")  # letters are no shortcuts while somebody types
        page.keyboard.press("Enter")
        expect(page.get_by_text("Nothing waits for an answer.")).to_be_visible()
        expect(page).to_have_title("Waiting for people · Tactician")


class TestRoles:
    def test_whoever_lacks_a_role_sees_it_and_is_refused_by_the_server(
        self, office: Office, open_page: OpenPage
    ) -> None:
        run_id = office.start_run("newsroom", {"topic": "frogs"})
        office.wait_for(run_id, "waiting")
        page = open_page("waiting", token=BERT)
        expect(page.get_by_role("note")).to_contain_text("This needs the role “editor”. You have “cook”.")
        expect(page).to_have_title("Waiting for people · Tactician")
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)

        (request,) = office.wait_for(run_id, "waiting")["pending"]
        answer = {"request": request["id"], "response": {"decision": "approve"}}
        refused = office.call("POST", f"/api/runs/{run_id}/answers", answer, token=BERT)
        assert (refused.status_code, "This needs the role 'editor'." in refused.text) == (403, True)
        assert office.wait_for(run_id, "waiting")
        page.get_by_role("button", name="mine").click()
        expect(page.get_by_text("Nothing waits for an answer.")).to_be_visible()

    def test_two_people_look_and_one_answers(self, office: Office, open_page: OpenPage) -> None:
        anna, bert = open_page("waiting"), open_page("waiting", token=BERT)
        run_id = office.start_run("cashier", "Pay")
        expect(anna.get_by_role("button", name="Approve")).to_be_visible()
        expect(bert.get_by_role("button", name="Approve")).to_be_visible()
        bert.get_by_role("button", name="Approve").click()
        office.wait_for(run_id, "completed")

        expect(anna.get_by_text("Nothing waits for an answer.")).to_be_visible()


class TestSigningIn:
    def test_a_token_is_asked_for_and_kept_out_of_the_address(self, open_page: OpenPage) -> None:
        page = open_page("waiting", token=None)
        page.get_by_label("Token").fill("nobody-has-this-token")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("The server does not accept this token.")).to_be_visible()
        page.get_by_label("Token").fill(BERT)
        page.get_by_role("button", name="Sign in").click()

        expect(page.get_by_text("Bert")).to_be_visible()
        assert BERT not in page.url
        assert page.evaluate("Object.keys(localStorage).concat(document.cookie).join('')") == ""
        page.reload()
        expect(page.get_by_text("Bert")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("dialog")).to_be_visible()
