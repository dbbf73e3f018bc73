"""A fork at any step, with the same model, input and answers, ends as the run that it was forked from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import (
    Agent,
    AgentNetwork,
    Ai,
    ParallelAgents,
    Platform,
    ProcessOptions,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    confirm,
    planned_agent,
    tool,
)
from tactician.agents import BaseRunnable
from tactician.agents.flows import repeat_until, scatter_gather
from tactician.process import AgentProcess, OperationContext
from tactician.runs import PendingRequest, RunError, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tests.support.deciding_model import DecidingModel
from tests.support.effort import examples
from tests.support.stored import JsonStore

Outcome: TypeAlias = AgentProcess | RunResult[object] | RunError


@dataclass(frozen=True)
class Topic:
    text: str


@dataclass(frozen=True)
class Facts:
    text: str


@dataclass(frozen=True)
class Opinion:
    stars: int


@dataclass(frozen=True)
class Article:
    text: str


@tool
def look_up(request: str) -> str:
    """Looks something up."""
    if request.endswith("3"):
        raise LookupError("nothing is known")
    return f"facts on {request}"


@tool(needs_approval=True)
def order(request: str) -> str:
    """Orders something."""
    return f"{request} is ordered"


def worker(name: str = "Worker") -> Agent:
    return Agent(name, tools=[look_up, order], max_turns=3)


def supervisor() -> SupervisorAgent:
    return SupervisorAgent("Supervisor", workers={"looks things up": worker("Finder"), "orders": worker("Buyer")})


def panel() -> ParallelAgents:
    return ParallelAgents("Panel", [worker("First"), worker("Second")])


def network() -> AgentNetwork:
    return AgentNetwork("Debate", [worker("One"), worker("Two")], synthesizer=worker("Moderator"), max_rounds=2)


def gathering() -> object:
    async def ask_model(asked: str, ai: Ai) -> Opinion:
        return Opinion(len(await ai.generate_text(asked)))

    async def ask_person(asked: str) -> Opinion:
        return Opinion(await ask_human(int, f"How many stars for {asked}?"))

    def add(opinions: list[Opinion]) -> Opinion:
        return Opinion(sum(opinion.stars for opinion in opinions))

    return scatter_gather(Opinion, [ask_model, ask_person], add, name="Gathering")


def repetition() -> object:
    async def improve(asked: str, last: Article | None, ai: Ai) -> Article:
        before = "" if last is None else last.text
        return Article(before + await ai.generate_text(f"{asked} {before}"))

    return repeat_until(Article, improve, lambda article: len(article.text) > 25, name="Repetition", max_iterations=4)


@planned_agent(description="Writes")
class Author:
    @action
    def choose(self, user_input: UserInput) -> Topic:
        return Topic(user_input.content)

    @action
    async def research(self, topic: Topic, context: OperationContext) -> Facts:
        return Facts(await context.run_agent(worker("Researcher"), str, topic.text))

    @action
    async def judge(self, topic: Topic) -> Opinion:
        return Opinion(await ask_human(int, f"How many stars for {topic.text}?"))

    @achieves_goal("written")
    @action
    async def write(self, facts: Facts, opinion: Opinion, ai: Ai) -> Article:
        if not await confirm(facts, "May it be written?"):
            raise PermissionError("it may not be written")
        return Article(await ai.generate_text(f"{facts.text} {opinion.stars}"))


@planned_agent(description="Publishes")
class Publisher:
    @action
    async def commission(self, user_input: UserInput, context: OperationContext) -> Article:
        return await context.run_agent(Author(), Article, user_input)

    @achieves_goal("published")
    @action
    async def publish(self, article: Article) -> str:
        return f"{article.text}, {await ask_human(str, 'By whom?')}"


def response_to(request: PendingRequest) -> Response:
    """The answer of a person, which depends on the question only."""
    number = crc32(request.prompt.encode())
    match request.kind:
        case "approval" | "confirmation":
            return bool(number % 3)
        case _ if request.schema is not None and "integer" in str(request.schema):
            return number % 5
        case _:
            return f"person {number % 5}"


async def finish(platform: Platform, outcome: Outcome) -> Outcome:
    """Answer everything that a run asks."""
    while not isinstance(outcome, RunError) and outcome.pending:
        request = outcome.pending[0]
        run_id = outcome.id if isinstance(outcome, AgentProcess) else outcome.run_id
        try:
            outcome = await platform.respond(run_id, request.id, response_to(request))
        except RunError as error:
            outcome = error
    return outcome


async def start(platform: Platform, agent: object, text: str) -> Outcome:
    try:
        if isinstance(agent, BaseRunnable) and agent.planned_spec is None:
            return await agent.run(text, context=platform.context())
        return await platform.start(agent, text, options=ProcessOptions(max_parallel=2))
    except RunError as error:
        return error


async def fork(platform: Platform, run_id: str, at: int) -> Outcome:
    try:
        return await finish(platform, await platform.fork(run_id, at=at))
    except RunError as error:
        return error


def describe(outcome: Outcome) -> list[object]:
    """How a run has ended, without ids and times. An action that has failed a process may have been tried again."""
    if isinstance(outcome, RunError):
        return [type(outcome), str(outcome), outcome.result.messages]
    if isinstance(outcome, RunResult):
        return [outcome.status, outcome.output, outcome.messages]
    ran = sorted({(run.action, run.outputs, str(run.error)) for run in outcome.history})
    board = [one.content if isinstance(one, UserInput) else one for one in outcome.blackboard.objects]
    return [outcome.status, outcome.result, outcome.failure, ran, board, dict(outcome.blackboard.conditions)]


async def check_forks(
    store: DocumentStore, make: Callable[[], object], seed: int, choose: Callable[[int], Iterable[int]]
) -> None:
    """Fork a run after some of its steps, and each fork once more.

    Args:
        store: store of the runs.
        make: returns what runs.
        seed: seed of its model.
        choose: chooses steps, given their number.
    """
    agent = make()
    platform = Platform(DecidingModel(seed), store=store).register(agent)
    ended = await finish(platform, await start(platform, agent, "frogs"))
    (record,) = await RunStore(store).find()
    for at in choose(record.steps):
        forked = await fork(platform, record.run_id, at)
        assert describe(forked) == describe(ended), f"forked after step {at} of {record.steps}"
        newest = (await RunStore(store).find())[-1]
        again = await fork(platform, newest.run_id, (at + newest.steps) // 2)
        assert describe(again) == describe(ended), f"forked after step {at} of {record.steps}, and the fork again"


KINDS: Mapping[str, Callable[[], object]] = {
    "agent": worker,
    "supervisor": supervisor,
    "panel": panel,
    "network": network,
    "gathering": gathering,
    "repetition": repetition,
    "process": Author,
    "process in a process": Publisher,
}


@pytest.mark.parametrize("kind", KINDS)
@examples(8)
@given(seed=st.integers(0, 10_000), keeps_objects=st.booleans())
def test_a_fork_at_any_step_ends_as_the_run_did(kind: str, seed: int, keeps_objects: bool) -> None:
    def choose(steps: int) -> Iterable[int]:
        return range(seed % (1 + steps // 10), steps + 1, 1 + steps // 10)

    asyncio.run(check_forks(MemoryStore() if keeps_objects else JsonStore(), KINDS[kind], seed, choose))


@pytest.mark.parametrize("kind", KINDS)
@examples(2)
@given(seed=st.integers(0, 10_000))
def test_so_does_one_in_a_database(kind: str, seed: int) -> None:
    async def check() -> None:
        with TemporaryDirectory() as folder:
            async with SqliteStore(Path(folder) / "runs.db") as store:
                await check_forks(store, KINDS[kind], seed, lambda steps: [seed % (steps + 1)])

    asyncio.run(check())
