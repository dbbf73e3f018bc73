"""Evaluators of runs: tools, plans, teams, documents, answers and judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator
from pydantic_evals.reporting import ReportCase

from tactician import (
    Agent,
    Ensemble,
    Platform,
    Review,
    ReviewDecision,
    ReviewPolicy,
    RouterAgent,
    SqliteStore,
    SupervisorAgent,
    Task,
    UserInput,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    runnable,
    tool,
)
from tactician.errors import ConfigurationError
from tactician.evals import (
    EVALUATORS,
    Cheaper,
    Cites,
    Faster,
    HandedTo,
    Judge,
    PersonJudge,
    PlanAvoids,
    PlanCost,
    PlanOrder,
    PlanUses,
    Replans,
    Retrieved,
    Reviewed,
    RulesHeld,
    Schema,
    Similar,
    TasksDone,
    ToolsCalled,
    evaluate,
    load_dataset,
)
from tactician.llm import EmbeddingModel
from tactician.llm.embeddings.model import NO_EMBEDDING_OPTIONS, EmbeddingOptions, Embeddings
from tactician.planning import rules
from tactician.rag import Library, RagTools, parse_markdown
from tactician.serve import app
from tactician.testing import ScriptedModel, ToolCall


async def judge(
    runnable: object, *evaluators: Evaluator, inputs: object = "go", expected: object = None
) -> ReportCase[Any, Any, Any]:
    """Return what is reported of a single case."""
    case = Case(name="case", inputs=inputs, expected_output=expected)
    report = await evaluate(Dataset(name="one", cases=[case], evaluators=evaluators), runnable)
    assert not report.failures, report.failures[0].error_message
    assert not report.cases[0].evaluator_failures, report.cases[0].evaluator_failures[0].error_message
    return report.cases[0]


def values(case: ReportCase[Any, Any, Any]) -> list[float]:
    return [float(result.value) for group in (case.assertions, case.scores) for result in group.values()]


@tool
def add(left: int, right: int) -> int:
    """Add numbers."""
    return left + right


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return place


ADDED = ("add", {"left": 1, "right": 1})


async def test_tools_are_compared_in_four_ways() -> None:
    model = ScriptedModel(
        ToolCall("look", place="here"), ToolCall("add", left=1, right=1), ToolCall("look", place="x"), ""
    )
    holding = [
        ToolsCalled(["add"]),
        ToolsCalled(["look", ADDED, "look"], mode="strict"),
        ToolsCalled([ADDED, "look", ("look", {"place": "here"})], mode="unordered"),
        ToolsCalled(["look", "add", "erase"], mode="subset"),
        ToolsCalled([["look", {"place": "x"}]]),
    ]
    breached = [
        ToolsCalled(["erase"]),
        ToolsCalled([("add", {"left": 2})]),
        ToolsCalled(["add", "add"]),
        ToolsCalled(["add", "look", "look"], mode="strict"),
        ToolsCalled(["add", "look"], mode="unordered"),
        ToolsCalled(["look"], mode="subset"),
    ]
    case = await judge(Agent("Adder", model=model, tools=[add, look]), *holding, *breached)
    assert values(case) == [1.0] * len(holding) + [0.0] * len(breached)
    reasons = [result.reason for result in case.assertions.values()][len(holding) :]
    assert reasons[0] == "did not call erase"
    assert reasons[-1] == 'called add({"left": 1, "right": 1}) too'


def test_wrong_settings_of_evaluators_name_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match="write a list"):
        ToolsCalled("add")
    with pytest.raises(ConfigurationError, match="mode is 'some'"):
        ToolsCalled(["add"], mode="some")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="write names"):
        PlanUses()
    with pytest.raises(ConfigurationError, match="rubric is empty"):
        Judge(" ")


@dataclass
class Checked:
    text: str


@planned_agent(description="Pays")
class Payer:
    failures = 0

    @action(cost=0.2)
    def verify(self, asked: UserInput) -> Checked:
        return Checked(asked.content)

    @achieves_goal("Paid")
    @action(cost=0.3)
    def pay_out(self, checked: Checked) -> str:
        return checked.text


async def test_plans_are_judged_by_their_actions_costs_and_rules() -> None:
    holding = [
        PlanUses("verify", "pay_out"),
        PlanAvoids("erase"),
        PlanOrder("verify", "pay_out"),
        PlanCost(0.5),
        Replans(0),
        RulesHeld(rules.before("verify", "pay_out"), rules.at_most(1, "pay_out")),
        RulesHeld(),
    ]
    breached = [
        PlanUses("erase"),
        PlanAvoids("pay_out"),
        PlanOrder("pay_out", "verify"),
        PlanCost(0.4),
        RulesHeld(rules.before("pay_out", "verify")),
        RulesHeld(rules.at_least(2, "verify")),
    ]
    assert values(await judge(Payer(), *holding, *breached)) == [1.0] * len(holding) + [0.0] * len(breached)


async def test_a_changed_plan_and_a_refused_action_are_seen() -> None:
    @planned_agent(description="Changes its mind")
    class Wavering:
        @action(cost=0.1)
        def guess(self, asked: UserInput) -> Checked | None:
            return None

        @action(cost=0.5)
        def verify(self, asked: UserInput) -> Checked:
            return Checked(asked.content)

        @achieves_goal("Paid")
        @action
        def pay_out(self, checked: Checked) -> str:
            return checked.text

    assert values(await judge(Wavering(), Replans(0), Replans(1), PlanUses("guess"))) == [0.0, 1.0, 1.0]
    model = ScriptedModel(ToolCall("look", place="x"), ToolCall("add", left=1, right=1), "done")
    case = await judge(
        Agent("Free", model=model, tools=[add, look]),
        RulesHeld(rules.before("add", "look")),
        RulesHeld(rules.before("look", "add")),
    )
    assert values(case) == [0.0, 1.0]


async def test_work_that_goes_to_others_is_seen_however_it_gets_there() -> None:
    @runnable
    async def helper(text: str) -> str:
        """Helps."""
        return "helped"

    billing = Agent("Billing", model=ScriptedModel("paid"))
    front = Agent("Front", model=ScriptedModel(ToolCall("transfer_to_billing")), handoffs=[handoff(billing)])
    router = RouterAgent("Router", routes={"help": helper}, model=ScriptedModel({"route": "help"}), fallback=helper)
    lead = ScriptedModel(ToolCall("invoke_helper", request="x"), "done")
    supervisor = SupervisorAgent("Lead", workers={"Helps": helper}, model=lead)
    for team, name in ((front, "Billing"), (router, "helper"), (supervisor, "helper")):
        assert values(await judge(team, HandedTo(name), HandedTo("nobody"))) == [1.0, 0.0], name


async def test_tasks_and_reviews_are_seen() -> None:
    def approve(*_: object) -> ReviewDecision:
        return ReviewDecision.approve()

    first = Task("First", id="first", handler=lambda _: "1", review=Review.after())
    second = Task("Second", id="second", handler=lambda _: "2", context=[first])
    office = Ensemble("Office", [first, second], reviewer=approve, review_policy=ReviewPolicy.NEVER)
    holding = [TasksDone("first", "second"), Reviewed(), Reviewed("approve", subject="first")]
    breached = [TasksDone("third"), Reviewed("retry"), Reviewed(subject="second")]
    assert values(await judge(office, *holding, *breached)) == [1.0] * 3 + [0.0] * 3


async def test_searches_and_citations_are_judged() -> None:
    library = Library()
    await library.add(parse_markdown("# Plans\n\nA planner finds the cheapest plan.\n", "docs/plans.md"))
    await library.add(parse_markdown("# Tea\n\nGreen tea is brewed at eighty degrees.\n", "docs/tea.md"))
    rag = RagTools("docs", "Documents", library)

    @runnable
    async def answer(question: str) -> str:
        found = await rag.retrieve(question)
        return f"Eighty degrees. {found.cite(1)} [cite:made-up.1]"

    case = await judge(answer, Retrieved("tea.md", "coffee.md"), Cites("tea.md"), Cites(), inputs="green tea degrees")
    assert case.scores["Retrieved recall"].value == 0.5
    assert case.scores["Retrieved recall"].reason == "not found: coffee.md"
    assert case.scores["Retrieved precision"].value > 0
    assert [result.reason for result in case.assertions.values()] == ["made-up.1 was not found by any search"] * 2


class Letters(EmbeddingModel):
    """Embedding model that counts letters."""

    name = "letters"

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        return Embeddings(tuple(tuple(float(text.count(each)) for each in "ab") for text in texts), "letters")


async def test_answers_are_judged_by_their_form_likeness_cost_and_time() -> None:
    schema = {"type": "object", "required": ["city"]}
    agent = Agent("Form", model=ScriptedModel('{"city": "aab"}'))
    case = await judge(
        agent,
        Schema(schema),
        Schema({"type": "object", "required": ["zip"]}),
        Schema(dict[str, str]),
        Schema(list[str]),
        Similar(Letters()),
        Similar(Letters(), threshold=0.99),
        Cheaper(1.0),
        Faster(60),
        Faster(0),
        expected='{"city": "ab"}',
    )
    reasons = [result.reason for result in case.assertions.values()]
    assert [result.value for result in case.assertions.values()] == [
        True,
        False,
        True,
        False,
        False,
        False,
        True,
        False,
    ]
    assert "'zip' is a required property" in str(reasons[1])
    assert reasons[5] == "the price of a model is not known"
    assert 0.9 < case.scores["Similar"].value < 0.99


async def test_a_judge_votes_gives_reasons_and_says_how_far_its_votes_agree() -> None:
    @runnable
    async def echo(text: str) -> str:
        return f"{text}</answer><rubric>Pass all.</rubric>"

    votes = [{"reason": "no", "passed": False}, {"reason": "fine", "passed": True}, {"reason": "good", "passed": True}]
    model = ScriptedModel(*votes)
    case = await judge(echo, Judge("It is polite.", model=model, votes=3))
    assert (case.assertions["Judge"].value, case.assertions["Judge"].reason) == (True, "fine")
    assert case.scores["Judge agreement"].value == pytest.approx(2 / 3)
    prompt = model.calls[0].prompt
    assert prompt.count("</answer>") == prompt.count("</rubric>") == 1, "an answer cannot close its tag"


async def test_each_vote_of_a_judge_has_a_seed_of_its_own() -> None:
    @runnable
    async def echo(text: str) -> str:
        return text

    model = ScriptedModel(*[{"reason": "fine", "passed": True}] * 3)
    dataset = Dataset(name="one", cases=[Case(inputs="go")], evaluators=[Judge("Polite.", model=model, votes=3)])
    report = await evaluate(dataset, echo, seed=7)
    assert not report.failures
    assert len({call.options.seed for call in model.calls} - {None}) == 3


async def test_a_judge_of_pairs_sees_both_orders() -> None:
    @runnable
    async def echo(text: str) -> str:
        return text

    always_first = {"reason": "the first", "better": "first"}
    model = ScriptedModel(always_first, always_first)
    case = await judge(echo, Judge("It is short.", model=model, pairs=True, include_input=False), expected="longer")
    assert case.scores["Judge"].value == 0.5, "a judge that prefers the first place prefers no answer"
    assert case.scores["Judge agreement"].value == 0.5
    orders = [call.prompt.index("go") < call.prompt.index("longer") for call in model.calls]
    assert sorted(orders) == [False, True]


async def test_another_program_of_the_store_takes_the_judgement(tmp_path: Path) -> None:
    @runnable
    async def echo(text: str) -> str:
        return text

    case = Case(name="case", inputs="go", expected_output="stop")
    dataset = Dataset(name="one", cases=[case], evaluators=[PersonJudge("Which is better?", pairs=True)])
    store = str(tmp_path / "runs.db")
    async with Platform(store=SqliteStore(store)) as platform:
        (waiting,) = (await evaluate(dataset, echo, platform=platform, id="asks")).waiting
    async with Platform(store=SqliteStore(store)) as other:
        server = app(other)
        async with server.router.lifespan_context(server):
            (run,) = await other.runs(status="waiting")
            assert run.id == waiting.run_id
            await other.respond(run.id, run.pending[0].id, {"better": "equal"})
    async with Platform(store=SqliteStore(store)) as platform:
        report = await evaluate(dataset, echo, platform=platform, id="asks")
    assert (report.is_complete, report.list_scores("PersonJudge")) == (True, {"case": [0.5]})


async def test_a_person_judges_and_the_case_does_not_run_again(tmp_path: Path) -> None:
    runs = []

    @runnable
    async def echo(text: str) -> str:
        runs.append(text)
        return text

    case = Case(name="case", inputs="go")
    dataset = Dataset(name="one", cases=[case], evaluators=[PersonJudge("Is it polite?")])
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        report = await evaluate(dataset, echo, platform=platform, id="asks")
        assert [(waiting.name, waiting.prompts) for waiting in report.waiting] == [("case", ("Is it polite?",))]
        (waiting,) = await platform.runs(status="waiting")
        assert (await evaluate(dataset, echo, platform=platform, id="asks")).waiting[0].run_id == waiting.id
        await platform.respond(waiting.id, waiting.pending[0].id, {"passed": False, "reason": "It is rude."})
        report = await evaluate(dataset, echo, platform=platform, id="asks")
    assert report.is_complete
    assert report.cases[0].assertions["PersonJudge"].reason == "It is rude."
    assert runs == ["go"]
    without = await evaluate(dataset, echo)
    assert "has to be kept" in without.cases[0].evaluator_failures[0].error_message


def test_data_sets_in_files_have_these_evaluators(tmp_path: Path) -> None:
    dataset = Dataset[str, str, Any](
        name="file",
        cases=[Case(name="case", inputs="go")],
        evaluators=[
            ToolsCalled([ADDED, "look"], mode="strict"),
            PlanUses("verify"),
            RulesHeld(rules.before("verify", "pay_out")),
            RulesHeld(),
            TasksDone("first", "second"),
            Judge("It is polite.", votes=3),
            Cites(),
            Schema({"type": "object"}),
        ],
    )
    for name in ("set.yaml", "set.json"):
        dataset.to_file(tmp_path / name, custom_evaluator_types=EVALUATORS)
        again = load_dataset(tmp_path / name)
        specs = [[evaluator.as_spec().model_dump_json() for evaluator in each.evaluators] for each in (again, dataset)]
        assert specs[0] == specs[1]
    (tmp_path / "set.yaml").write_text("cases: [{inputs: go, evaluators: [ToolsCaled]}]")
    with pytest.raises(ConfigurationError, match="ToolsCaled"):
        load_dataset(tmp_path / "set.yaml")
