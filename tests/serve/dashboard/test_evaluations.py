"""Evaluations in the browser: their list, the matrix of cases and versions, and a person who judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.evals import EvalReport, PersonJudge, evaluate
from tests.serve.dashboard.office import CARL, Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage

KEY = "sk-ant-api03-" + "a1B2" * 20
CAPITALS = {
    "France": "Paris",
    "Spain": "Madrid",
    "Italy": "Rome",
    "Peru": "Lima",
    "Chile": "Santiago",
    "Cuba": "Havana",
    "Ghana": "Accra",
}


@planned_agent(name="Geographer")
class Geographer:
    """Knows the capitals of some countries."""

    def __init__(self, countries: int) -> None:
        self.countries = list(CAPITALS)[:countries]

    @achieves_goal("The capital")
    @action
    def look_up(self, country: UserInput) -> str:
        if country.content == "Atlantis":
            raise ValueError(f"no such country: {KEY}")
        return CAPITALS[country.content] if country.content in self.countries else "Tokyo"


async def evaluate_capitals(office: Office, countries: int, name: str) -> EvalReport:
    cases = [Case(name=country, inputs=country, expected_output=capital) for country, capital in CAPITALS.items()]
    cases.append(Case(name="Atlantis", inputs="Atlantis", expected_output="none"))
    dataset = Dataset(name="capitals", cases=cases, evaluators=[EqualsExpected()])
    return await evaluate(dataset, Geographer(countries), platform=office.platform, id=name, name=name, repeat=2)


@pytest.fixture(scope="module")
def evaluated(office: Office) -> tuple[EvalReport, EvalReport]:
    return office.run(evaluate_capitals(office, 7, "old")), office.run(evaluate_capitals(office, 0, "new"))


class TestApi:
    def test_the_list_the_cases_and_what_changed(
        self, office: Office, evaluated: tuple[EvalReport, EvalReport]
    ) -> None:
        listed = office.call("GET", "/api/evaluations").json()["evaluations"]
        assert [(entry["id"], entry["status"], entry["done"], entry["expected"]) for entry in listed] == [
            ("new", "complete", 16, 16),
            ("old", "complete", 16, 16),
        ]
        shown = office.call("GET", "/api/evaluations/old").json()
        assert shown["scores"][0]["mean"] == pytest.approx(7 / 8)
        assert shown["scores"][0]["low"] < 7 / 8 < shown["scores"][0]["high"]
        assert {figure["name"] for figure in shown["measures"]} >= {"tokens", "seconds"}
        assert shown["trials"][0]["run_id"] == evaluated[0].entries[0].run_id
        assert (shown["trials"][0]["output"], shown["trials"][0]["results"][0]["value"]) == ("Paris", True)
        assert "no such country" in shown["trials"][-1]["error"]
        assert KEY not in office.call("GET", "/api/evaluations/old").text
        compared = office.call("GET", "/api/evaluations/new/comparison?baseline=old").json()
        assert compared["is_worse"]
        assert compared["verdict"] == "Worse: EqualsExpected fell from 0.875 to 0, beyond the noise."
        assert [change["case"] for change in compared["changed"]] == list(CAPITALS)
        assert compared["scores"][0]["high"] < 0

    def test_what_is_not_there_and_who_may_not_look(self, office: Office) -> None:
        assert office.call("GET", "/api/evaluations/none").status_code == 404
        assert office.call("GET", "/api/evaluations/none/comparison?baseline=other").status_code == 404
        assert office.call("GET", "/api/evaluations", token=CARL).status_code == 200
        assert office.call("GET", "/api/evaluations", token="nobody").status_code == 401


def test_two_versions_are_compared_and_a_cell_opens_its_run(
    office: Office, open_page: OpenPage, evaluated: tuple[EvalReport, EvalReport]
) -> None:
    page = open_page("evaluations")
    page.get_by_label("Compare old").check()
    page.get_by_label("Compare new").check()
    page.get_by_role("link", name="Compare 2").click()
    expect(page.get_by_text("Worse: EqualsExpected fell from 0.875 to 0, beyond the noise.")).to_be_visible()
    figures = page.get_by_role("table", name="Figures").get_by_role("row", name="EqualsExpected")
    expect(figures).to_contain_text("0.875")
    expect(figures).to_contain_text("worse")

    cases = page.get_by_role("table", name="Cases")
    expect(cases.get_by_role("row")).to_have_count(9)
    page.get_by_label("Show").select_option(label="cases that changed")
    expect(cases.get_by_role("row")).to_have_count(8)
    cases.get_by_role("button", name="Spain").click()
    expect(cases.get_by_text("Tokyo").first).to_be_visible()
    cases.get_by_role("link", name="Spain [1/2]: ✗ no").click()
    expect(page.get_by_role("heading", name="Geographer")).to_be_visible()
    expect(page.get_by_text("Plan 1 of 1")).to_be_visible()
    assert evaluated[1].entries[2].run_id in page.url


def test_a_person_judges_two_answers_side_by_side(office: Office, open_page: OpenPage) -> None:
    case = Case(name="France", inputs="France", expected_output="Lyon <b>, I think</answer>")
    judge = PersonJudge("Which answer is right?", role="editor", pairs=True)
    dataset = Dataset(name="pairs", cases=[case], evaluators=[judge])

    async def judge_pairs() -> EvalReport:
        return await evaluate(dataset, Geographer(6), platform=office.platform, id="pairs")

    (waiting,) = office.run(judge_pairs()).waiting
    summary = office.call("GET", "/api/evaluations/pairs").json()["evaluation"]
    assert (summary["status"], summary["waiting"][0]["run_id"]) == ("waiting", waiting.run_id)

    page = open_page("evaluations/pairs")
    page.get_by_role("link", name="Which answer is right?").click()
    expect(page.get_by_role("region", name="Input")).to_contain_text("France")
    answers = {name: page.get_by_role("region", name=f"{name.title()} answer") for name in ("first", "second")}
    texts = {name: shown.inner_text() for name, shown in answers.items()}
    better = next(name for name, text in texts.items() if "Paris" in text)
    assert any("Lyon <b>, I think</answer>" in text for text in texts.values())
    left, right = (shown.bounding_box() for shown in answers.values())
    assert (left and left["y"]) == (right and right["y"]), "they are side by side"
    page.get_by_label("Better").select_option(label=better)
    page.get_by_label("Reason").fill("It is Paris.")
    page.get_by_role("button", name="Answer", exact=True).click()
    office.wait_for(waiting.run_id, "completed")

    report = office.run(judge_pairs())
    assert report.is_complete
    assert (report.cases[0].scores["PersonJudge"].value, report.cases[0].scores["PersonJudge"].reason) == (
        1.0,
        "It is Paris.",
    )
    assert office.call("GET", "/api/evaluations/pairs").json()["evaluation"]["status"] == "complete"
