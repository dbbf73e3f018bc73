"""Plans that follow from what actions took in earlier runs of a platform."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import (
    Budget,
    OperationContext,
    Planned,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    SqliteStore,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.errors import ConfigurationError, DeclarationError
from tactician.events import Event, event_from_json, event_to_json
from tactician.llm import Usage
from tactician.llm.usage import ModelPrice
from tactician.planning import MEASURED, Objective
from tactician.process import AgentProcess, PlanMade, PlanReview, ProcessFailedError
from tactician.process.saving.saved_state import restore_options, save_options
from tactician.testing import FakeClock

PRICE = ModelPrice(input=1.0, output=0.0)


@dataclass
class Facts:
    text: str


def spend(context: OperationContext, dollars: float, model: str = "m:x") -> None:
    """Count the usage of a call of a model."""
    tokens = round(dollars * 1_000_000)
    context.run.tally.add(Usage(input_tokens=tokens, requests=1, model=model, price=PRICE))


@planned_agent(description="Answers from one of two sources")
class Researcher(Planned[str]):
    """The web is fast and dear; the archive is slow and cheap, and may have nothing."""

    def __init__(self) -> None:
        self.has_archive = True

    @action(cost=MEASURED)
    async def ask_web(self, question: UserInput, context: OperationContext, run: RunContext) -> Facts:
        await run.clock.sleep(2)
        spend(context, 0.50, "m:dear")
        return Facts("web")

    @action(cost=MEASURED)
    async def ask_archive(self, question: UserInput, context: OperationContext, run: RunContext) -> Facts | None:
        await run.clock.sleep(10)
        spend(context, 0.05)
        return Facts("archive") if self.has_archive else None

    @achieves_goal("It is answered")
    @action
    async def answer(self, facts: Facts) -> str:
        return facts.text


async def ask(platform: Platform, agent: Researcher | None = None, **options: object) -> AgentProcess:
    chosen = ProcessOptions(**{"budget": Budget(), **options})  # type: ignore[arg-type]
    return await platform.start(agent or Researcher(), UserInput("?"), options=chosen)


async def learn(platform: Platform) -> None:
    """Run each way once: what has never run costs nothing, so it is tried first."""
    assert {(await ask(platform)).result for _ in range(2)} == {"web", "archive"}


async def test_what_was_measured_decides() -> None:
    platform = Platform(clock=FakeClock())
    await learn(platform)
    assert (await ask(platform, objective=Objective.TIME)).result == "web"
    assert (await ask(platform, objective=Objective.DOLLARS)).result == "archive"
    assert (await ask(platform, objective=Objective(seconds=1, dollars=1))).result == "web"
    assert (await ask(platform)).result == "archive"


async def test_experience_shows_runs_success_seconds_and_dollars() -> None:
    clock = FakeClock()
    platform, agent = Platform(clock=clock), Researcher()
    await learn(platform)
    agent.has_archive = False
    assert (await ask(platform, agent)).result == "web"
    archive = await platform.experience("ask_archive")
    assert archive.runs == 2
    assert archive.seconds == pytest.approx(10)
    assert archive.dollars == pytest.approx(0.05)
    assert 0.6 < archive.success < 0.7
    web = await platform.experience("ask_web", "Researcher")
    assert [(model, each.runs) for model, each in web.by_model] == [("m:dear", 2)]
    assert (await platform.experience("unknown")).runs == 0
    assert [(each.agent, each.name, each.experience.runs) for each in await platform.list_experience()] == [
        ("Researcher", "answer", 3),
        ("Researcher", "ask_archive", 2),
        ("Researcher", "ask_web", 2),
    ]


async def test_only_a_plan_that_is_dear_is_reviewed() -> None:
    platform = Platform(clock=FakeClock())
    terms = PlanReview(above_dollars=0.1)
    unknown = await ask(platform, plan_review=terms)
    assert unknown.status is ProcessStatus.WAITING, "nothing was measured yet"
    await learn(platform)

    cheap = await ask(platform, plan_review=terms, objective=Objective.DOLLARS)
    dear = await ask(platform, plan_review=terms, objective=Objective.TIME)

    assert (cheap.status, dear.status) == (ProcessStatus.COMPLETED, ProcessStatus.WAITING)
    assert "Expected: $0.5000" in dear.pending[0].prompt


async def test_a_way_that_fails_is_left() -> None:
    """Its price counts as often as it takes until one run succeeds: $0.05 / 0.09 is more than $0.50."""
    platform, agent = Platform(clock=FakeClock()), Researcher()
    await learn(platform)
    agent.has_archive = False
    chosen = [(await ask(platform, agent, objective=Objective.DOLLARS)).history[0].action for _ in range(22)]
    assert chosen[0] == "ask_archive"
    assert chosen[-1] == "ask_web"


async def test_the_next_program_knows_what_was_measured(tmp_path: Path) -> None:
    url, clock = str(tmp_path / "runs.db"), FakeClock()
    async with Platform(store=SqliteStore(url), clock=clock) as platform:
        await learn(platform)
    async with Platform(store=SqliteStore(url), clock=clock) as platform:
        process = await ask(platform, objective=Objective.TIME)
        assert process.result == "web"
        assert (await platform.experience("ask_web")).runs == 2


async def test_a_plan_says_what_it_is_expected_to_take() -> None:
    platform = Platform(clock=FakeClock())
    await learn(platform)
    events: list[Event] = []
    await ask(platform, objective=Objective.DOLLARS, on_event=events.append)
    made = next(event for event in events if isinstance(event, PlanMade))
    expected = made.plan.expected
    restored = event_from_json(event_to_json(made))
    assert isinstance(restored, PlanMade)
    assert restored.plan.expected == expected
    assert (expected.success, expected.runs) == (1.0, 1)
    assert expected.makespan == pytest.approx(10)
    assert expected.dollars == pytest.approx(0.05)


async def test_of_two_ways_the_one_that_fits_is_taken() -> None:
    platform = Platform(clock=FakeClock())
    await learn(platform)
    cheap = await ask(platform, objective=Objective.TIME, budget=Budget(cost=0.2))
    assert (cheap.status, cheap.result) == (ProcessStatus.COMPLETED, "archive")
    quick = await ask(platform, objective=Objective.DOLLARS, budget=Budget(seconds=5))
    assert (quick.status, quick.result) == (ProcessStatus.COMPLETED, "web")


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(cost=0.02), "no plan is expected to keep the budget of $0.02: the cheapest, ask_archive -> answer,"),
        (Budget(seconds=1), "no plan is expected to keep the budget of 1 second: the cheapest, ask_web -> answer, "),
    ],
)
async def test_what_nothing_keeps_is_said_before_anything_is_spent(budget: Budget, reason: str) -> None:
    platform = Platform(clock=FakeClock())
    await learn(platform)
    process = await ask(platform, objective=Objective.COST, budget=budget)
    assert process.status is ProcessStatus.TERMINATED
    assert process.failure is not None
    assert process.failure.startswith(reason)
    assert process.failure.endswith(("takes $0.0500 and 10 s", "takes $0.5000 and 2 s"))
    assert process.history == ()


async def test_a_deadline_that_nothing_keeps_is_said_as_well() -> None:
    clock = FakeClock()
    platform = Platform(clock=clock)
    await learn(platform)
    context = platform.context().with_deadline(clock.time() + 1)
    with pytest.raises(ProcessFailedError, match="no plan is expected to keep the deadline in 1 s"):
        await Researcher().run(UserInput("?"), context=context, options=ProcessOptions(objective=Objective.TIME))


async def test_exploration_depends_on_its_seed() -> None:
    platform = Platform(clock=FakeClock())
    await learn(platform)
    chosen = [(await ask(platform, explore=seed)).history[0].action for seed in range(12)]
    assert len(set(chosen)) == 1, "one costs ten times as much"
    again = [(await ask(platform, explore=seed)).history[0].action for seed in range(12)]
    assert chosen == again


async def test_the_objective_may_be_that_of_the_agent_or_of_the_platform() -> None:
    @planned_agent(description="Answers soon", objective=Objective.TIME)
    class Hasty(Researcher):
        pass

    platform = Platform(clock=FakeClock(), objective=Objective.TIME)
    await learn(platform)
    assert (await ask(platform)).result == "web"
    platform = Platform(clock=FakeClock())
    for _ in range(2):
        await ask(platform, Hasty())
    assert (await ask(platform, Hasty())).result == "web"


def test_an_objective_is_stored_with_the_options() -> None:
    options = ProcessOptions(objective=Objective(cost=1, seconds=0.01, dollars=5), explore=7)
    assert restore_options(save_options(options)) == options
    saved = save_options(options)
    assert isinstance(saved, dict)
    before = {name: value for name, value in saved.items() if name not in ("objective", "explore")}
    assert restore_options(before) == ProcessOptions()


def test_wrong_settings_say_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match=r"write objective=Objective\.DOLLARS"):
        ProcessOptions(objective="time")  # type: ignore[arg-type]

    @planned_agent(description="Is wrong", objective="time")  # type: ignore[call-overload]
    class Wrong(Researcher):
        pass

    with pytest.raises(DeclarationError, match="objective is 'time'"):
        Platform().register(Wrong())
