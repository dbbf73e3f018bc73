"""People start, watch and end runs in the browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.serve.dashboard.axe import find_serious_problems
from tests.serve.dashboard.office import EVIL, Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

VIEWS = ("runs", "waiting", "agents", "agents/traveller", "models", "stores")


class TestARun:
    def test_it_is_started_watched_answered_and_replans(self, office: Office, open_page: OpenPage) -> None:
        page = open_page("agents/traveller")
        page.get_by_label("Request").fill("Somewhere warm")
        page.get_by_role("button", name="Start run").click()
        steps = page.get_by_role("list", name="Steps of the plan")
        expect(steps).to_contain_text("find_train")
        expect(page.get_by_text("Plan 1 of 1")).to_be_visible()
        expect(page.get_by_text("Where to, and for how long? Somewhere warm").first).to_be_visible()

        other = open_page(page.url.partition("#/")[2])  # who comes late sees the same
        expect(other.get_by_role("list", name="Steps of the plan")).to_contain_text("find_train")
        page.get_by_role("link", name="Answer").click()
        page.get_by_label("City").fill("Rome")
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(other.get_by_text(re.compile(r"Plan 2 of 2"))).to_be_visible()
        expect(other.get_by_role("list", name="Steps of the plan")).to_contain_text("write_bus_ticket")
        other.reload()  # nothing is lost
        expect(other.get_by_text(re.compile(r"Plan 2 of 2"))).to_be_visible()
        page.get_by_role("button", name="Yes").click()
        expect(other.get_by_text("completed").first).to_be_visible()
        expect(other.get_by_role("region", name="Result")).to_contain_text("bus to Rome")

    def test_it_is_cancelled(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("slow", "Go")
        office.wait_for(run_id, "running")
        page = open_page(f"runs/{run_id}")
        page.get_by_role("button", name="Cancel run").click()
        expect(page.get_by_text("cancelled by Anna").first).to_be_visible()

        assert office.wait_for(run_id, "killed")["failure"] == "cancelled by Anna"

    def test_a_list_follows_what_others_do(self, office: Office, open_page: OpenPage) -> None:
        page = open_page("runs")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        run_id = office.start_run("cashier", "Pay")
        row = page.get_by_role("row").filter(has=page.locator(f'a[href$="{run_id}"]'))
        expect(row).to_contain_text("waiting")
        expect(page).to_have_title(re.compile(r"^\(1\)"))
        office.call("DELETE", f"/api/runs/{run_id}")
        expect(row).to_contain_text("killed")


class TestWordsOfOthers:
    def test_scripts_in_them_run_nowhere(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("cashier", EVIL)
        (request,) = office.wait_for(run_id, "waiting")["pending"]
        office.call("POST", f"/api/runs/{run_id}/answers", {"request": request["id"], "response": True})
        office.wait_for(run_id, "completed")
        evil = office.start_run("evil", EVIL)
        office.wait_for(evil, "completed")
        page = open_page(f"runs/{run_id}")
        expect(page.get_by_text("window.hacked").first).to_be_visible()
        for view in (
            f"runs/{run_id}?tab=conversations",
            f"runs/{run_id}?tab=events",
            f"runs/{evil}",
            "agents/evil",
            "agents",
            "runs",
            "waiting",
        ):
            page.goto(f"{office.pages}#/{view}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()

        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script").count() == 0


class TestEverybody:
    def test_axe_finds_no_serious_problem(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("traveller", "Somewhere warm")
        office.wait_for(run_id, "waiting")
        page = open_page()
        page.emulate_media(reduced_motion="reduce")
        problems = []
        for view in (*VIEWS, f"runs/{run_id}", f"runs/{run_id}?tab=events"):
            page.goto(f"{office.pages}#/{view}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_text("Loading…")).to_have_count(0)
            problems += [f"{view}: {problem}" for problem in find_serious_problems(page)]
            page.emulate_media(color_scheme="dark")
            problems += [f"{view}, dark: {problem}" for problem in find_serious_problems(page, "color-contrast")]
            page.emulate_media(color_scheme="light")

        assert problems == [], "\n".join(problems)

    def test_a_narrow_screen_needs_no_scrolling_to_the_side(self, office: Office, open_page: OpenPage) -> None:
        run_id = office.start_run("traveller", "Somewhere warm")
        office.wait_for(run_id, "waiting")
        page = open_page(width=400)
        wide = []
        for view in (*VIEWS, f"runs/{run_id}", f"runs/{run_id}?tab=events"):
            page.goto(f"{office.pages}#/{view}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_text("Loading…")).to_have_count(0)
            if page.evaluate("document.querySelector('main').scrollWidth") > 400:
                wide.append(view)

        assert wide == []


class TestFigures:
    def test_models_and_stores_show_what_happens(self, office: Office, open_page: OpenPage) -> None:
        for agent in ("poet", "broken"):
            office.wait_for(office.start_run(agent, "Hi"), "completed", "failed")
        page = open_page("models")
        instances = page.get_by_role("table", name="Instances")
        expect(instances.get_by_role("row").filter(has_text="at us")).to_contain_text("closed")
        expect(instances.get_by_role("row").filter(has_text="broken")).to_contain_text("server")
        expect(page.get_by_role("img", name=re.compile("^Cost: "))).to_be_visible()
        run_id = office.start_run("slow", "Go")
        office.wait_for(run_id, "running")
        page.goto(f"{office.pages}#/stores")
        expect(page.get_by_role("link", name="Slow")).to_be_visible()
        expect(page.get_by_text(re.compile(r"lease for \d+ s"))).to_be_visible()
