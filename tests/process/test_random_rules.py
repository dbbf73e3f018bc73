"""Random processes under random rules, with actions that lie, failures, restarts and models that choose badly.

No hard rule is ever broken, and nothing is refused that no rule forbids: a second reading of the rules, by their
definition, judges what was done and what was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Final

import pytest
from pydantic import BaseModel

from tactician import Agent, Platform, ProcessOptions, ProcessStatus, achieves_goal, action, planned_agent
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse
from tactician.loop import ToolRefused
from tactician.planning import rules
from tactician.planning.rules import Rule
from tactician.process import ActionRefused
from tactician.runs import RunError
from tactician.testing import ScriptedModel, ToolCall
from tests.support.effort import EFFORT

NAMES: Final = ("one", "two", "three", "finish")


class Order(BaseModel):
    value: int


class One(BaseModel):
    value: int


class Two(BaseModel):
    value: int


class Three(BaseModel):
    value: int


class Finished(BaseModel):
    value: int


def draw_rules(random: Random) -> tuple[Rule, ...]:
    first, then = random.sample(NAMES, 2)
    kinds = [
        rules.before(first, then), rules.never(first), rules.at_most(random.randrange(3), first),
        rules.after(first, then), rules.sometime(first), rules.at_least(1, first),
        rules.within(random.randint(1, 4), first), rules.within(random.randint(1, 3), then, after=first),
        rules.any_of(rules.before(first, then), rules.at_most(1, first)),
        rules.at_most(1, f"{first} | {then}"),
    ]  # fmt: skip
    return tuple(random.sample(kinds, random.randint(1, 3)))


def can_be_kept(rule: Rule, done: Sequence[str]) -> bool:
    """Return whether the actions so far leave the rule unbroken, by its definition."""
    arguments = rule.arguments

    def places(event: object) -> list[int]:
        names = str(event).split(" | ")
        return [place for place, name in enumerate(done) if name in names]

    match rule.kind:
        case "before":
            firsts = places(arguments["first"])
            return all(firsts and firsts[0] < place for place in places(arguments["then"]))
        case "never":
            return not places(arguments["action"])
        case "at_most":
            return len(places(arguments["action"])) <= int(str(arguments["count"]))
        case "within":
            limit, events = int(str(arguments["limit"])), places(arguments["event"])
            begins = [-1] if "after" not in arguments else places(arguments["after"])
            return all(
                any(begin < place <= begin + limit for place in events) or len(done) - 1 - begin < limit
                for begin in begins
            )
        case "any_of":
            return any(can_be_kept(part, done) for part in rule.parts)
        case _:
            return True


class RandomModel(ScriptedModel):
    """Model that calls any of its tools, or answers, at random."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    async def generate(self, request: ModelRequest) -> ModelResponse:
        names = [spec.name for spec in request.tools]
        many = self._random.randint(1, 3)
        calls = [ToolCall(self._random.choice(names)) for _ in range(many) if names]
        self.script(calls if calls and self._random.random() < 0.8 else "done")
        return await super().generate(request)


def build_agent(random: Random, book: tuple[Rule, ...], planner: str, done: list[str]) -> object:
    def act(name: str, value: BaseModel) -> BaseModel | None:
        """Do what is said, raise, or give nothing although a result was promised."""
        luck = random.random()
        if luck < 0.1:
            raise ConnectionError("away")
        if luck < 0.2:
            return None
        done.append(name)
        return value

    @planned_agent(description="Works", name=f"Works {next(_numbers)}", rules=book, planner=planner)
    class Works:
        @action(cost=2)
        async def one(self, order: Order) -> One | None:
            return act("one", One(value=1))  # type: ignore[return-value]

        @action(cost=1)
        async def two(self, order: Order) -> Two | None:
            return act("two", Two(value=1))  # type: ignore[return-value]

        @action(can_rerun=True)
        async def three(self, order: Order) -> Three | None:
            return act("three", Three(value=1))  # type: ignore[return-value]

        @achieves_goal("Finished")
        @action
        async def finish(self, order: Order) -> Finished | None:
            return act("finish", Finished(value=1))  # type: ignore[return-value]

    return Works()


_numbers = count()


async def run_process(seed: int) -> None:
    random, done, events = Random(seed), list[str](), list[Event]()
    book = draw_rules(random)
    planner = random.choice(["goap", "utility", "supervisor"])
    options = ProcessOptions(max_parallel=random.choice([1, 3]), on_event=events.append)
    platform = Platform(RandomModel(random))
    try:
        process = await platform.start(build_agent(random, book, planner, done), Order(value=1), options=options)
    except DeclarationError as error:
        assert "no goal can be reached" in str(error) or "every goal" in str(error)  # noqa: PT017
        return
    assert all(can_be_kept(rule, done[: n + 1]) for rule in book for n in range(len(done))), (seed, book, done)
    if process.status is ProcessStatus.COMPLETED:
        assert all(is_met(rule, done) for rule in book), (seed, book, done)
    for event in events:
        if isinstance(event, ActionRefused):
            assert set(event.rules) <= set(map(str, book))


def is_met(rule: Rule, done: Sequence[str]) -> bool:
    """Return whether the rule asks for nothing more, by its definition."""
    arguments = rule.arguments
    match rule.kind:
        case "after":
            action, following = str(arguments["action"]), str(arguments["following"])
            return action not in done or following in done[len(done) - done[::-1].index(action) :]
        case "sometime":
            return str(arguments["event"]) in done
        case "at_least":
            return done.count(str(arguments["action"])) >= int(str(arguments["count"]))
        case _:
            return True


async def run_agent(seed: int) -> None:
    """Run a plain agent, whose model calls tools at random, several at once."""
    random, done = Random(seed), list[str]()
    book, is_parallel = draw_rules(random), random.random() < 0.5

    def judge(event: Event) -> None:
        """Check that each refusal is due to a rule that the call would break, where no other call runs."""
        if isinstance(event, ToolRefused) and not is_parallel:
            forbidding = {str(rule) for rule in book if not can_be_kept(rule, [*done, event.call.name])}
            assert set(event.rules) == forbidding, (seed, book, done, event)
            refused.append(event)

    refused = list[ToolRefused]()

    def make(name: str) -> object:
        async def work() -> str:
            await asyncio.sleep(0)
            if random.random() < 0.2:
                raise ConnectionError("away")
            done.append(name)
            return name

        work.__name__ = name
        return work

    tools = [make(name) for name in NAMES]
    agent = Agent("Worker", model=RandomModel(random), tools=tools, rules=book, parallel_tools=is_parallel)  # type: ignore[arg-type]
    is_answered = True
    try:
        await agent.run("Work", context=Platform(on_event=judge).context())
    except RunError:
        is_answered = False
    assert all(can_be_kept(rule, done[: n + 1]) for rule in book for n in range(len(done))), (seed, book, done)
    assert not is_answered or all(is_met(rule, done) for rule in book), (seed, book, done)


@pytest.mark.soak
@pytest.mark.parametrize("run", [run_process, run_agent])
async def test_no_rule_is_ever_broken(run: object) -> None:
    for seed in range(40 * EFFORT):
        await run(seed)  # type: ignore[operator]
