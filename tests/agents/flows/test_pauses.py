"""Flows that wait for somebody, and go on without running again what has been done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from tactician import Ai, RunContext, RunStatus, approve, runnable
from tactician.agents import BaseRunnable
from tactician.agents.flows import Feedback, repeat_until, repeat_until_acceptable, scatter_gather, simple_agent
from tactician.errors import StoredStateError
from tactician.process import ask_human
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel
from tests.agents.constellations.support import payer, surroundings


@dataclass(frozen=True)
class Note:
    text: str


class Work:
    """Steps, and how often each was run."""

    def __init__(self) -> None:
        self.count = 0

    def quick(self, asked: str) -> Note:
        self.count += 1
        assert asked == "go"
        return Note("quick")

    async def asks(self, asked: str) -> Note:
        return Note(await ask_human(str, f"{asked}?"))


def both(notes: list[Note]) -> Note:
    assert all(isinstance(note, Note) for note in notes)
    return Note(" ".join(note.text for note in notes))


def in_a_scatter(work: Work) -> BaseRunnable[object]:
    return scatter_gather(Note, [work.quick, work.asks], both)


def in_a_tolerant_scatter(work: Work) -> BaseRunnable[object]:
    def fail() -> Note:
        work.count += 1
        raise LookupError("gone")

    return scatter_gather(Note, [fail, work.asks], both, tolerate=1)


def in_a_repetition(work: Work) -> BaseRunnable[object]:
    async def step(asked: str, last: Note | None) -> Note:
        return work.quick(asked) if last is None else await work.asks(asked)

    return repeat_until(Note, step, lambda note: note.text != "quick")


def in_a_condition(work: Work) -> BaseRunnable[object]:
    async def until(note: Note) -> bool:
        return await ask_human(str, "enough?") == "yes"

    return repeat_until(Note, work.quick, until)


def in_an_evaluation(work: Work) -> BaseRunnable[object]:
    async def evaluate(note: Note) -> Feedback:
        return Feedback(score=1, comments=await ask_human(str, "well?"))

    return repeat_until_acceptable(Note, work.quick, evaluate)


def in_a_flow_in_a_flow(work: Work) -> BaseRunnable[object]:
    return scatter_gather(Note, [work.quick, simple_agent(Note, work.asks)], both)


@pytest.mark.parametrize(
    "flow",
    [in_a_scatter, in_a_tolerant_scatter, in_a_repetition, in_a_condition, in_an_evaluation, in_a_flow_in_a_flow],
)
async def test_it_waits_and_goes_on(flow: Callable[[Work], BaseRunnable[object]]) -> None:
    work, context = Work(), surroundings()
    result = await flow(work).run("go", context=context)
    assert result.status is RunStatus.WAITING
    assert work.count == 1
    done = await flow(work).resume(result.run_id, {result.pending[0].id: "yes"}, context=context)
    assert done.status is RunStatus.COMPLETED
    assert "yes" in repr(done.output) or flow is in_a_condition
    assert work.count == 1


async def test_two_ask_at_once_and_each_gets_its_own_answer() -> None:
    def flow() -> BaseRunnable[Note]:
        async def ask(prompt: str) -> Note:
            return Note(await ask_human(str, prompt))

        return scatter_gather(Note, [ask, ask], both)

    context = surroundings()
    waiting = await flow().run("go", context=context)
    first, second = waiting.pending
    waiting = await flow().resume(waiting.run_id, {second.id: "b"}, context=context)
    assert waiting.status is RunStatus.WAITING
    done = await flow().resume(waiting.run_id, {first.id: "a"}, context=context)
    assert done.output == Note("a b")


async def test_a_model_is_not_asked_again() -> None:
    async def said(ai: Ai) -> str:
        return await ai.generate_text("say")

    context = RunContext.over(model := ScriptedModel("said"), store=MemoryStore())
    flow = scatter_gather(str, [said, payer()], lambda texts: " / ".join(texts))
    waiting = await flow.run("go", context=context)
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert done.output == "said / Payer is done"
    assert len(model.calls) == 1


@pytest.mark.parametrize("is_stored", [False, True])
async def test_a_step_whose_type_nobody_knows_gives_plain_json_or_is_refused(is_stored: bool, tmp_path: Path) -> None:
    work, made = Work(), list[object]()

    def note(value: object) -> object:
        made.append(value)
        return value

    def flow(*steps: Callable[..., object]) -> BaseRunnable[Note]:
        return scatter_gather(Note, [*steps, work.asks], lambda some: Note(f"{some[0]}"))

    async with SqliteStore(tmp_path / "runs.db") as store:
        context = RunContext.over(ScriptedModel(), store=store if is_stored else MemoryStore())
        waiting = await flow(lambda: note(7)).run("go", context=context)
        done = await flow(lambda: note(7)).resume(waiting.run_id, {waiting.pending[0].id: "yes"}, context=context)
        assert (done.output, made) == (Note("7"), [7])
        with pytest.raises(StoredStateError, match=r"`Note` cannot be stored: .* Declare it as `Note`"):
            await flow(lambda: note(Note("made"))).run("go", context=context)


async def test_without_a_store_the_result_of_any_step_is_kept_as_it_is() -> None:
    work, opaque = Work(), object()
    context = RunContext.over(ScriptedModel())
    flow = scatter_gather(Note, [lambda: opaque, work.asks], lambda some: Note(str(some[0] is opaque)))
    waiting = await flow.run("go", context=context)
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: "yes"}, context=context)
    assert done.output == Note("True")


class Priced(BaseModel):
    cents: int = Field(alias="priceInCents")
    tags: dict[tuple[int, int], str] = {}


async def test_an_output_is_read_as_the_declared_type(tmp_path: Path) -> None:
    work, made = Work(), list[Priced]()

    async def price(topic: str) -> Priced:
        made.append(Priced(priceInCents=5))
        return made[-1]

    def flow() -> BaseRunnable[str]:
        return scatter_gather(str, [price, runnable(price), work.asks], lambda some: f"{some[0]!r} {some[1]!r}")

    async with SqliteStore(tmp_path / "runs.db") as store:
        context = RunContext.over(ScriptedModel(), store=store)
        waiting = await flow().run("go", context=context)
        done = await flow().resume(waiting.run_id, {waiting.pending[0].id: "yes"}, context=context)
    assert (done.output, len(made)) == (f"{made[0]!r} {made[0]!r}", 2)


async def test_an_approval_inside_an_agent_of_a_flow() -> None:
    context = surroundings()
    agent = payer()
    flow = scatter_gather(str, [agent], lambda texts: texts[0])
    waiting = await flow.run("go", context=context)
    done = await flow.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert done.output == "Payer is done"
