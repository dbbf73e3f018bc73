"""Random processes under random rules, with actions that lie, failures, restarts and models that choose badly.

No hard rule is ever broken, and nothing is refused that no rule forbids: a second reading of the rules, by their
definition, judges what was done and what was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count, product
from random import Random
from typing import Final, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tactician import (
    Agent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.errors import AlreadyAnsweredError, DeclarationError, Replan
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse
from tactician.loop import ToolRefused
from tactician.planning import rules
from tactician.planning.rules import Rule
from tactician.platform import Worker
from tactician.process import ActionRefused, AgentProcess, ProcessHandle
from tactician.runs import RunError, RunResult
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.effort import examples
from tests.support.stored import JsonStore

T = TypeVar("T")
NAMES: Final = ("one", "two", "three", "finish")


class Order(BaseModel):
    value: int


class First(BaseModel):
    value: int


class Second(BaseModel):
    value: int


class Third(BaseModel):
    value: int


class Finished(BaseModel):
    value: int


TYPES: Final = {"first": First, "second": Second, "third": Third}
TOOLS: Final = ("one", "two", "not one", "not two")
CONDITIONS: Final = ("first", "second", "third", "not first", "not second", "not third")


def draw_rules(random: Random, conditions: Sequence[str]) -> tuple[Rule, ...]:
    first, then = random.sample(NAMES, 2)
    kinds = [
        rules.before(first, then), rules.never(first), rules.at_most(random.randrange(3), first),
        rules.after(first, then), rules.sometime(first), rules.at_least(1, first),
        rules.within(random.randint(1, 4), first), rules.within(random.randint(1, 3), then, after=first),
        rules.any_of(rules.before(first, then), rules.at_most(1, first)),
        rules.at_most(1, f"{first} | {then}"), rules.never(first, when=random.choice(conditions)),
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
        case "never" if "when" in arguments:
            return True  # judged at each start
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


@dataclass
class Fates:
    """What happens to the actions of a process: they work, fail, lie, ask, pause the process, or lose its program."""

    random: Random
    book: tuple[Rule, ...]
    is_alone: bool
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unfaithful: int = 0
    program: asyncio.Task[object] | None = None

    async def act(self, name: str, process: ProcessHandle, value: T) -> T | None:
        """Do the work, or what fate has in store instead."""
        if self.is_alone:
            self.wrong += [str(rule) for rule in self.book if forbids_now(rule, name, process)]
        match self.random.choice(["work"] * 8 + ["fail", "lie", "ask", "pause", "die"]):
            case "fail":
                self.unfaithful += 1
                raise self.random.choice([Replan("away"), ConnectionError("away")])
            case "lie":
                self.unfaithful += 1
                return None
            case "ask":
                await ask_human(bool, "Go on?")
            case "pause":
                process.pause()
            case "die" if self.program is not None:
                self.unfaithful += 1
                self.program.cancel()
                await asyncio.Event().wait()
        self.done.append(name)
        return value


def forbids_now(rule: Rule, name: str, process: ProcessHandle) -> bool:
    """Return whether a prohibition under a condition speaks against a start, by its definition."""
    when = rule.arguments.get("when")
    if rule.kind != "never" or when is None or rule.arguments["action"] != name:
        return False
    is_negative, kind = str(when).startswith("not "), TYPES[str(when).removeprefix("not ")]
    return (process.last(kind) is None) == is_negative


def build_agent(fates: Fates, planner: str) -> object:
    @planned_agent(description="Works", name=f"Works {next(_numbers)}", rules=fates.book, planner=planner)
    class Works:
        @action(cost=2)
        async def one(self, order: Order, process: ProcessHandle) -> First | None:
            return await fates.act("one", process, First(value=1))

        @action(cost=1)
        async def two(self, order: Order, process: ProcessHandle) -> Second | None:
            return await fates.act("two", process, Second(value=1))

        @action(can_rerun=True)
        async def three(self, order: Order, process: ProcessHandle) -> Third | None:
            return await fates.act("three", process, Third(value=1))

        @achieves_goal("Finished")
        @action
        async def finish(self, order: Order, process: ProcessHandle) -> Finished | None:
            return await fates.act("finish", process, Finished(value=1))

        def handle_stuck(self, process: AgentProcess) -> bool:
            if fates.random.random() < 0.5:
                return False
            fates.unfaithful += 1
            process.blackboard.add(fates.random.choice([First, Second, Third])(value=2))
            return True

    return Works()


_numbers = count()


class Shop:
    """Platforms over a store, each of which lives until its program dies or its process rests."""

    def __init__(self, fates: Fates, planner: str, events: list[Event]) -> None:
        self._fates, self._events = fates, events
        self._store = fates.random.choice([MemoryStore, JsonStore])()
        self._agent = build_agent(fates, planner)

    def open(self) -> Platform:
        platform = Platform(
            RandomModel(self._fates.random), store=self._store, clock=FakeClock(), on_event=self._events.append
        )
        return platform.register(self._agent)

    async def start(self, options: ProcessOptions) -> AgentProcess:
        """Run a process to its end, on another platform after each interruption."""
        agent, order = self._agent, Order(value=1)
        if self._fates.random.random() < 0.3:
            process_id = await self.open().enqueue(agent, order, options=options)
        else:
            await self._try(lambda platform: platform.start(agent, order, options=options))
            process_id = self._events[0].run_id
        return await self.finish(process_id)

    async def finish(self, process_id: str) -> AgentProcess:
        """Continue a process, by a worker, a call or an answer, until it has ended."""
        for _ in range(60):
            platform = self.open()
            process = await platform.process(process_id)
            self._forget_lost_work(process)
            if process.pending:
                request = process.pending[0].id
                await self._try(partial(self._answer, run_id=process_id, request_id=request), platform)
            elif process.status in (ProcessStatus.RUNNING, ProcessStatus.PAUSED):
                await self._try(lambda platform: platform.resume(process_id), platform)
            elif process.status is ProcessStatus.NOT_STARTED:
                await self._try(lambda platform: Worker(platform).run_once(), platform)
            else:
                return process
        raise AssertionError("the process does not come to its end")

    async def _answer(self, platform: Platform, run_id: str, request_id: str) -> None:
        """Answer a request, or continue where its answer was kept before the program died."""
        try:
            await platform.respond(run_id, request_id, response=True)
        except AlreadyAnsweredError:
            await platform.resume(run_id)

    def _forget_lost_work(self, process: AgentProcess) -> None:
        """Forget actions whose end was lost with the program: they count as never run, and are run again."""
        self._fates.done[:] = list_done(process)

    async def fork(self, process: AgentProcess) -> AgentProcess:
        """Run a fork of the process to its end, from some step on."""
        platform = self.open()
        last = len(await platform.steps(process.id))
        at = self._fates.random.randint(0, last - 1) if last else 0
        earlier = {event.run_id for event in self._events}
        await self._try(lambda platform: platform.fork(process.id, at=at), platform)
        fork_ids = (event.run_id for event in self._events if event.run_id not in earlier)
        return await self.finish(next(fork_ids, process.id))  # a fork of the last step has nothing to do

    async def _try(self, work: Callable[[Platform], Awaitable[object]], platform: Platform | None = None) -> None:
        """Work in a program of its own, which may die meanwhile."""

        async def run() -> object:
            return await work(platform or self.open())

        self._fates.program = asyncio.create_task(run())
        with suppress(asyncio.CancelledError):
            await self._fates.program


def list_done(process: AgentProcess) -> list[str]:
    return [run.action for run in process.history if run.error is None and run.outputs]


def judge_process(process: AgentProcess, book: Sequence[Rule]) -> None:
    """Check that a process has broken no rule, and ended well only when it owed nothing."""
    done = list_done(process)
    assert all(can_be_kept(rule, done[: n + 1]) for rule in book for n in range(len(done))), (book, done)
    if process.status is ProcessStatus.COMPLETED:
        assert all(is_met(rule, done) for rule in book), (book, done)


def can_be_finished(book: Sequence[Rule], done: Sequence[str]) -> bool:
    """Return whether some sequence of actions ends well after these, by trying them all."""
    left = [name for name in NAMES if name not in done]
    for length in range(len(left) + 3):
        for steps in product({*left, "three"}, repeat=length):
            ends = [*done, *steps]
            is_possible = all(ends.count(name) < 2 for name in NAMES if name != "three") and "finish" in ends
            if is_possible and all(is_met(rule, ends) for rule in book) and keeps_all(book, ends):
                return True
    return False


def keeps_all(book: Sequence[Rule], done: Sequence[str]) -> bool:
    return all(
        can_be_kept(rule, done[: n + 1]) and not is_forbidden_after(rule, done[:n], done[n])
        for rule in book
        for n in range(len(done))
    )


def is_forbidden_after(rule: Rule, done: Sequence[str], name: str) -> bool:
    """Return whether a prohibition speaks against an action after these, by what these alone have changed."""
    when = rule.arguments.get("when")
    if rule.kind != "never" or when is None or rule.arguments["action"] != name:
        return False
    condition = str(when).removeprefix("not ")
    action = {"first": "one", "second": "two", "third": "three"}.get(condition, condition)
    return (action not in done) == str(when).startswith("not ")


async def check_process(random: Random) -> None:
    events, parallel = list[Event](), random.choice([1, 1, 3])
    planner = random.choice(["goap", "utility", "supervisor"])
    fates = Fates(random, draw_rules(random, CONDITIONS), is_alone=parallel == 1 and planner != "supervisor")

    def judge(event: Event) -> None:
        """Check that a refusal is due to the rules that the action would break, where no other runs."""
        if isinstance(event, ActionRefused) and parallel == 1 and planner != "supervisor":
            forbidding = {str(rule) for rule in fates.book if not can_be_kept(rule, [*fates.done, event.action])}
            fates.wrong += set(event.rules) ^ forbidding

    shop = Shop(fates, planner, events)
    try:
        process = await shop.start(ProcessOptions(max_parallel=parallel, on_event=judge))
    except DeclarationError as error:
        assert "no goal can be reached" in str(error) or "every goal" in str(error)  # noqa: PT017
        assert not can_be_finished(fates.book, ())
        return
    judge_process(process, fates.book)
    assert list_done(process) == fates.done
    if process.status is ProcessStatus.STUCK and planner == "goap" and not fates.unfaithful:
        assert not can_be_finished(fates.book, fates.done), process.failure
    if random.random() < 0.4:
        judge_process(await shop.fork(process), fates.book)
    assert not fates.wrong
    for event in events:
        if isinstance(event, ActionRefused):
            assert set(event.rules) <= set(map(str, fates.book))


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
        case "within":
            events = [place for place, name in enumerate(done) if name == arguments["event"]]
            begins = [place for place, name in enumerate(done) if name == arguments.get("after")]
            limit = int(str(arguments["limit"]))
            starts = begins if "after" in arguments else [-1]
            return all(any(start < place <= start + limit for place in events) for start in starts)
        case "any_of":
            return any(is_met(part, done) and can_be_kept(part, done) for part in rule.parts)
        case _:
            return True


async def run_agent(seed: int) -> None:
    """Run a plain agent, whose model calls tools at random, several at once."""
    random, done = Random(seed), list[str]()
    book, is_parallel = draw_rules(random, TOOLS), random.random() < 0.5

    def judge(event: Event) -> None:
        """Check that each refusal is due to a rule that the call would break, where no other call runs."""
        if isinstance(event, ToolRefused) and not is_parallel:
            forbidding = {
                str(rule)
                for rule in book
                if not can_be_kept(rule, [*done, event.call.name]) or is_forbidden_after(rule, done, event.call.name)
            }
            wrong.extend(set(event.rules) ^ forbidding)

    wrong = list[str]()

    def make(name: str) -> Callable[[], Awaitable[str]]:
        async def work() -> str:
            await asyncio.sleep(0)
            if random.random() < 0.2:
                raise ConnectionError("away")
            if any(is_forbidden_after(rule, done, name) for rule in book) and not is_parallel:
                wrong.append(f"{name} started")
            done.append(name)
            return name

        work.__name__ = name
        return work

    work = [tool(needs_approval=random.random() < 0.2)(make(name)) for name in NAMES]
    try:
        agent = Agent("Worker", model=RandomModel(random), tools=work, rules=book, parallel_tools=is_parallel)
    except DeclarationError as error:
        assert "contradict each other" in str(error)
        return
    store, is_answered = random.choice([MemoryStore, JsonStore])(), True

    def open_platform() -> Platform:
        return Platform(store=store, on_event=judge).register(agent)

    try:
        result: object = await open_platform().run(agent, "Work")
        while isinstance(result, RunResult) and result.pending:
            approved = random.random() < 0.7
            result = await open_platform().respond(result.run_id, result.pending[0].id, approved)
    except RunError:
        is_answered = False
    assert all(can_be_kept(rule, done[: n + 1]) for rule in book for n in range(len(done))), (seed, book, done)
    assert not wrong
    assert not is_answered or all(is_met(rule, done) for rule in book), (seed, book, done)


@examples(100)
@given(st.integers(0, 2**32))
def test_no_process_breaks_a_rule(seed: int) -> None:
    asyncio.run(check_process(Random(seed)))


@examples(40)
@given(st.integers(0, 2**32))
def test_no_agent_breaks_a_rule(seed: int) -> None:
    asyncio.run(run_agent(seed))
