"""`evaluate`: any Runnable, repeats, limits, caches, and evaluations that go on after a kill."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import weakref
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext, ToolCorrectness

from tactician import (
    Agent,
    Ai,
    Budget,
    Ensemble,
    LlmOptions,
    ParallelAgents,
    Platform,
    RouterAgent,
    RunContext,
    SqliteStore,
    Task,
    UserInput,
    achieves_goal,
    action,
    confirm,
    planned_agent,
    runnable,
    tool,
)
from tactician.errors import ConfigurationError, StoredStateError
from tactician.evals import EvalContext, EvalReport, TrialSeed, evaluate, evaluate_sync
from tactician.evals.summaries import list_evaluations
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.evals.support import SUMS, DearModel, calculator, sums
from tests.support.effort import EFFORT


@planned_agent(description="Adds numbers")
class Adder:
    @achieves_goal("The sum")
    @action
    def add(self, asked: UserInput) -> str:
        return SUMS[asked.content]


@runnable
async def adder(text: str) -> str:
    """Add numbers."""
    return SUMS[text]


def everything() -> list[object]:
    agent, _ = calculator()
    task = Task("Add", agent=agent)
    return [
        agent,
        adder,
        Adder(),
        ParallelAgents("All", [adder, agent]),
        RouterAgent("Front", routes={"sums": adder}, fallback=adder, model=agent.model),
        Ensemble("Office", [task]),
    ]


@pytest.mark.parametrize("asked", everything(), ids=lambda asked: type(asked).__name__)
async def test_any_runnable_is_evaluated(asked: object) -> None:
    report = await evaluate(sums(), asked)
    assert report.is_complete
    assert not report.failures
    assert report.case_names == list(SUMS)
    assert all(entry.run_id for entry in report.entries)


def test_programs_without_an_event_loop_and_names_on_a_platform() -> None:
    agent, _ = calculator()
    platform = Platform().register(agent)
    assert evaluate_sync(sums(), "Calculator", platform=platform).list_scores("EqualsExpected")["1+1"] == [1.0]


async def test_repeats_have_names_seeds_and_metrics_of_their_own() -> None:
    seeds = []

    @runnable
    async def roll(text: str, context: RunContext) -> str:
        seed = context.find(TrialSeed)
        assert seed is not None
        seeds.append(seed.value)
        return text

    report = await evaluate(sums({"1+1": "1+1"}), roll, repeat=3, seed=7)
    assert [entry.name for entry in report.entries] == ["1+1 [1/3]", "1+1 [2/3]", "1+1 [3/3]"]
    assert [case.source_case_name for case in report.cases] == ["1+1"] * 3
    assert len({*seeds}) == 3
    again = [*seeds]
    await evaluate(sums({"1+1": "1+1"}), roll, repeat=3, seed=7)
    assert sorted(seeds[3:]) == sorted(again)


@planned_agent(description="Adds numbers")
class Thinker:
    @achieves_goal("The sum")
    @action
    async def add(self, asked: UserInput, ai: Ai) -> str:
        return await ai.generate_text(asked.content)


EACH_KIND = [Agent("Calculator"), Thinker(), Ensemble("Office", [Task("Add")])]


@pytest.mark.parametrize("asked", EACH_KIND, ids=lambda asked: type(asked).__name__)
async def test_models_get_the_seed_that_was_given_each_run_its_own(asked: object) -> None:
    async def list_seeds(seed: int | None) -> list[int | None]:
        _, model = calculator()
        report = await evaluate(sums(), asked, repeat=2, seed=seed, platform=Platform(models=model))
        assert not report.failures
        assert EvalReport.from_json(report.to_json()).seed == seed
        return [call.options.seed for call in model.calls]

    seeds = await list_seeds(7)
    assert None not in seeds
    assert len({*seeds}) == 6
    assert {*await list_seeds(7)} == {*seeds}
    assert not {*await list_seeds(8)} & {*seeds}
    assert {*await list_seeds(None)} == {None}, "a model gets no seed that nobody gave"


async def test_the_seed_of_an_agent_wins_and_a_stored_evaluation_keeps_its_seed(tmp_path: Path) -> None:
    _, model = calculator()
    async with Platform(models=model, store=SqliteStore(tmp_path / "runs.db")) as platform:
        agent = Agent("Calculator", model=LlmOptions(seed=1))
        await evaluate(sums(), agent, seed=7, platform=platform, id="seeded")
        assert {call.options.seed for call in model.calls} == {1}
        assert [summary.seed for summary in await list_evaluations(platform.store)] == [7]


async def test_no_more_cases_run_at_once_than_asked() -> None:
    running, most = 0, 0

    @runnable
    async def count(text: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return text

    await evaluate(sums({str(number): "" for number in range(20)}), count, max_parallel=3)
    assert most == 3


async def test_a_budget_ends_the_evaluation_with_the_cases_that_ended(tmp_path: Path) -> None:
    agent, _ = calculator(model=DearModel())
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        report = await evaluate(sums(), agent, budget=Budget(cost=2.0), max_parallel=1, platform=platform, id="dear")
        assert [entry.cost for entry in report.entries] == [1.0, 1.0]
        assert "the budget of $2.00 is used up" in str(report.stopped)
        assert not report.is_complete
        more = await evaluate(sums(), agent, budget=Budget(cost=9.0), max_parallel=1, platform=platform, id="dear")
        assert (more.cost, more.is_complete) == (3.0, True)


async def test_a_case_that_takes_too_long_fails_and_is_over(tmp_path: Path) -> None:
    clock, waits = FakeClock(), asyncio.Event()

    @runnable
    async def wait(text: str) -> str:
        if text == "2+2":
            waits.set()
            await asyncio.Event().wait()
        return SUMS[text]

    async with Platform(store=SqliteStore(tmp_path / "runs.db"), clock=clock) as platform:
        running = asyncio.create_task(evaluate(sums(), wait, timeout=5, max_parallel=1, platform=platform))
        await waits.wait()
        clock.advance(6)
        report = await running
        assert [failure.error_message for failure in report.failures] == [
            "TimeoutError: the case took longer than 5 seconds"
        ]
        assert report.list_scores("EqualsExpected")["2+2"] == [0.0]
        assert [run.status for run in await platform.runs()].count("killed") == 1


async def test_an_answer_that_is_kept_is_not_asked_for_again(tmp_path: Path) -> None:
    agent, model = calculator()
    first = await evaluate(sums(), agent, repeat=2, cache=tmp_path)
    second = await evaluate(sums(), agent, repeat=2, cache=tmp_path)
    assert len(model.calls) == 6, "each repetition has an answer of its own"
    assert [entry.tokens for entry in second.entries] == [entry.tokens for entry in first.entries]
    assert second.cost == 0.0
    await evaluate(sums(), Agent("Calculator", model=model, instructions="Be brief."), cache=tmp_path)
    assert len(model.calls) == 9, "another prompt is another request"


async def test_a_platform_of_its_own_for_each_case() -> None:
    made = []

    def create() -> Platform:
        made.append(Platform())
        return made[-1]

    await evaluate(sums(), adder, platform=create)
    assert len(made) == 4, "one of them is for the evaluation"


@dataclass
class Asked(Evaluator[object, object, object]):
    """Evaluator of an own kind, which reads the run."""

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, float | bool]:
        assert isinstance(ctx, EvalContext)
        return {"models": len(ctx.trace.find("model")), "has run": bool(ctx.run_id)}


async def test_evaluators_see_the_run_also_those_that_read_spans() -> None:
    @tool
    def add(left: int, right: int) -> int:
        """Add numbers."""
        return left + right

    model = ScriptedModel(ToolCall("add", left=1, right=1), "2")
    dataset = Dataset(
        name="tools", cases=[Case(name="sum", inputs="1+1")], evaluators=[Asked(), ToolCorrectness(["add"])]
    )
    report = await evaluate(dataset, Agent("Adder", model=model, tools=[add]))
    assert report.entries[0].scores == {"models": 2.0, "has run": 1.0, "ToolCorrectness": 1.0}


async def test_a_case_that_waits_goes_on_when_somebody_has_answered(tmp_path: Path) -> None:
    @planned_agent(description="Asks")
    class Asker:
        @action
        async def ask(self, asked: UserInput) -> Sum | None:
            return Sum(SUMS[asked.content]) if await confirm(asked, "Right?") else None

        @achieves_goal("The sum")
        @action
        def give(self, result: Sum) -> str:
            return result.value

    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(Asker())
        report = await evaluate(sums({"1+1": "2"}), Asker(), platform=platform, id="asks")
        assert [case.prompts for case in report.waiting] == [("Right?",)]
        assert not report.is_complete
        (run,) = await platform.runs(status="waiting")
        await platform.respond(run.id, run.pending[0].id, True)
        report = await evaluate(sums({"1+1": "2"}), Asker(), platform=platform, id="asks")
        assert (report.is_complete, report.list_scores("EqualsExpected")) == (True, {"1+1": [1.0]})


@dataclass
class Sum:
    value: str


KILLED = """
import asyncio, os, sys
from tactician import Platform, SqliteStore, runnable
from tactician.evals import evaluate
from tactician.runs.life.holding import LeaseTime
from tests.evals.support import SUMS, sums

@runnable
async def add(text: str) -> str:
    with open(sys.argv[2], "a") as log:
        log.write(text + "\\n")
    if text == "3+3" and sys.argv[3] == "die":
        os.kill(os.getpid(), 9)
    return SUMS[text]

async def main():
    async with Platform(store=SqliteStore(sys.argv[1])) as platform:
        platform.services.find(LeaseTime).seconds = 2.0
        report = await evaluate(sums(), add, platform=platform, id="nightly", max_parallel=1)
        print(report.is_complete, report.list_scores("EqualsExpected"))

asyncio.run(main())
"""


def test_an_evaluation_that_was_killed_goes_on_without_repeating_a_case(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KILLED)

    def run(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program), str(tmp_path / "runs.db"), str(tmp_path / "log"), how]
        root = Path(__file__).parents[2]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": str(root)}
        )

    assert run("die").returncode == -signal.SIGKILL
    done = run("live")
    assert done.stdout == "True {'1+1': [1.0], '2+2': [1.0], '3+3': [1.0]}\n", done.stderr
    assert (tmp_path / "log").read_text().split() == ["1+1", "2+2", "3+3", "3+3"]


async def test_reports_are_read_as_they_were_written(tmp_path: Path) -> None:
    report = await evaluate(sums({"1+1": "3", "9+9": ""}), adder)
    report.to_json(tmp_path / "report.json")
    again = EvalReport.from_json(tmp_path / "report.json")
    assert again.to_json() == report.to_json()
    assert "KeyError" in again.failures[0].error_message
    with pytest.raises(StoredStateError, match="cannot be read"):
        EvalReport.from_json('{"format": 99}')


async def test_a_baseline_is_read_and_never_written(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    numbers = {str(number): str(number) for number in range(12)}

    @runnable
    async def repeat(text: str) -> str:
        return text

    @runnable
    async def wrong(text: str) -> str:
        return "?"

    with pytest.raises(ConfigurationError, match="there is no such file"):
        await evaluate(sums(numbers), repeat, baseline=file)
    text = (await evaluate(sums(numbers), repeat)).to_json(file)
    assert not (await evaluate(sums(numbers), repeat, baseline=file)).is_worse
    report = await evaluate(sums(numbers), wrong, baseline=str(file))
    assert report.is_worse
    assert file.read_text() == text


async def test_a_report_is_printed_with_its_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    before = await evaluate(sums(), adder)
    (await evaluate(sums({"1+1": "3"}), adder, baseline=before)).print()
    printed = capsys.readouterr().out
    assert "EqualsExpected" in printed
    assert "No difference beyond the noise in 1 case." in printed


async def test_wrong_settings_name_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match="repeat"):
        await evaluate(sums(), adder, repeat=0)
    with pytest.raises(TypeError, match="Did you mean 'repeat'"):
        await evaluate(sums(), adder, repaet=2)  # type: ignore[call-arg]


@pytest.mark.soak
async def test_what_a_case_needs_goes_with_it() -> None:
    """Of a thousand cases, only as many runs are in memory as run at once."""
    alive, most = 0, 0

    def leave() -> None:
        nonlocal alive
        alive -= 1

    @dataclass
    class Remembered(Evaluator[object, object, object]):
        def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> bool:
            assert isinstance(ctx, EvalContext)
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            weakref.finalize(ctx, leave)
            return True

    numbers = 1_000 if EFFORT > 1 else 200
    cases = [Case(name=str(number), inputs="1+1") for number in range(numbers)]
    dataset = Dataset(name="many", cases=cases, evaluators=[Remembered()])
    report = await evaluate(dataset, adder, max_parallel=50)
    assert len(report.cases) == numbers
    gc.collect()
    assert alive == 0
    assert most <= 100
