"""What the tasks of a phase with a review leave for later runs: nothing, before the phase is accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from tactician import (
    Agent,
    Ensemble,
    InProcessReflections,
    Loop,
    Phase,
    PhaseReview,
    Platform,
    Reflection,
    RunStatus,
    Scope,
    Task,
    Workflow,
)
from tactician.ensemble import PhaseReviewError, ReflectionInput, TaskInput
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.platform import Worker
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import over, prompt_of, says
from tests.support.stored import JsonStore, load_record


class Notebook:
    """What lasts longer than a run: a memory, and the outputs that were reflected on."""

    def __init__(self) -> None:
        self.memory = ScopedMemory(MemoryStore(), {"project": Scope()})
        self.reflections = InProcessReflections()

    def task(self, name: str) -> Task:
        """A task that counts its attempts, writes to the memory and is reflected on."""

        async def handle(task: TaskInput) -> str:
            await asyncio.sleep(0)
            return f"{name}{1 if task.revision is None else task.revision.attempt}"

        async def reflect(review: ReflectionInput) -> str:
            await asyncio.sleep(0)
            return f"about {review.output}"

        reflection = Reflection(strategy=reflect)
        return Task(f"Do {name}", id=name, handler=handle, memory=["project"], reflect=reflection)

    def ensemble(self, *phases: Phase, model: ScriptedModel | None = None) -> Ensemble:
        """An ensemble with this memory."""
        return Ensemble("E", phases=phases, model=model, memory=self.memory, reflections=self.reflections)

    async def remembered(self) -> list[str]:
        """The entries, oldest first."""
        return [entry.content for entry in await self.memory.entries("project")][::-1]

    async def noted(self, name: str) -> list[str]:
        """The notes on a task, oldest first."""
        return [note for entry in await self.reflections.load(name) for note in entry.notes][::-1]


def accept(attempt: int) -> Callable[[TaskInput], str]:
    """A reviewer who accepts an attempt, and sends those before back."""
    return lambda task: "APPROVE" if task.context_outputs[-1].raw.endswith(str(attempt)) else "RETRY: again"


async def test_attempts_that_the_review_sends_back_leave_nothing() -> None:
    book = Notebook()
    await book.ensemble(Phase("p", [book.task("a"), book.task("b")], review=PhaseReview(accept(3)))).run(context=over())
    assert await book.remembered() == ["a3", "b3"]
    assert (await book.noted("a"), await book.noted("b")) == (["about a3"], ["about b3"])


async def test_a_phase_that_is_rejected_leaves_nothing() -> None:
    book = Notebook()
    with pytest.raises(PhaseReviewError):
        await book.ensemble(Phase("p", [book.task("a")], review=PhaseReview(lambda _: "REJECT: no"))).run(
            context=over()
        )
    assert (await book.remembered(), await book.noted("a")) == ([], [])


async def test_a_phase_without_a_review_leaves_what_its_tasks_do_even_if_a_later_one_is_rejected() -> None:
    book = Notebook()
    first = Phase("first", [book.task("a")])
    second = Phase("second", [book.task("b")], after=[first], review=PhaseReview(lambda _: "REJECT: no"))
    with pytest.raises(PhaseReviewError):
        await book.ensemble(first, second).run(context=over())
    assert await book.remembered() == ["a1"]


async def test_tasks_of_the_same_attempt_read_it_already_and_those_of_the_next_do_not() -> None:
    book, model = Notebook(), ScriptedModel("b", "b")
    read = Task("Read", id="r", role="Reader", memory=["project"], context=[])
    review = PhaseReview(lambda task: "RETRY: again" if task.context_outputs[0].raw == "a1" else "APPROVE")
    await book.ensemble(Phase("p", [book.task("a"), read], review=review), model=model).run(context=over())
    assert "a1" in prompt_of(model, 0)
    assert "a2" in prompt_of(model, 1)
    assert "a1" not in prompt_of(model, 1)


async def test_a_predecessor_that_was_accepted_and_runs_again_leaves_both_outputs() -> None:
    book = Notebook()
    first = Phase("first", [book.task("a")])

    def check(task: TaskInput) -> str:
        return "APPROVE" if task.context_outputs[0].raw == "b from a2" else "RETRY_PREDECESSOR: better"

    follow = Task("Follow", id="b", handler=lambda task: f"b from {task.context_outputs[0].raw}", memory=["project"])
    await book.ensemble(first, Phase("second", [follow], after=[first], review=PhaseReview(check))).run(context=over())
    assert await book.remembered() == ["a1", "a2", "b from a2"]


def in_a_loop(book: Notebook) -> Loop:
    return Loop([book.task("a")], max_iterations=1)


def in_an_ensemble(book: Notebook) -> Ensemble:
    return Ensemble("Inner", [book.task("a")], memory=book.memory, reflections=book.reflections)


def in_a_phase(book: Notebook) -> Ensemble:
    phase = Phase("inner", [book.task("a")], review=PhaseReview(lambda _: "APPROVE"))
    return Ensemble("Inner", phases=[phase], memory=book.memory, reflections=book.reflections)


def in_a_hierarchy(book: Notebook) -> Ensemble:
    model = ScriptedModel(ToolCall("delegate_task", role="Writer", task="Write"), "a1", "a2")
    return Ensemble(
        "Inner",
        [Task("Do a", id="a", memory=["project"], reflect=Reflection(strategy=lambda one: f"about {one.output}"))],
        workflow=Workflow.HIERARCHICAL,
        agents=[says("Writer", "text")],
        manager=Agent("Boss", model=model),
        memory=book.memory,
        reflections=book.reflections,
    )


@pytest.mark.parametrize("build", [in_a_loop, in_an_ensemble, in_a_phase, in_a_hierarchy])
async def test_tasks_inside_of_others_leave_theirs_with_the_phase(build: Callable[[Notebook], Loop | Ensemble]) -> None:
    book = Notebook()
    await book.ensemble(Phase("p", [build(book)], review=PhaseReview(accept(2)))).run(context=over())
    assert await book.remembered() == ["a2"]
    assert await book.noted("a") == ["about a2"]


@pytest.mark.parametrize("build", [in_a_loop, in_an_ensemble, in_a_phase])
async def test_days_later_another_process_accepts_and_all_of_it_is_left_once(
    build: Callable[[Notebook], Loop | Ensemble],
) -> None:
    book, store = Notebook(), JsonStore()

    def program() -> Platform:
        phase = Phase("p", [build(book), book.task("b")], review=PhaseReview.by_person())
        return Platform(models=ScriptedModel(), store=store).register(book.ensemble(phase))

    platform = program()
    waiting = await platform.find_agent("E").run(None, context=platform.context())
    run_id, pending = waiting.run_id, waiting.pending
    assert await book.remembered() == []
    again = await program().respond(run_id, pending[0].id, "RETRY: again")
    await program().respond(run_id, again.pending[0].id, "APPROVE")
    assert (await load_record(store, run_id)).status is RunStatus.COMPLETED
    assert await book.remembered() == ["a2", "b2"]
    assert await book.noted("a") == ["about a2"]


@pytest.mark.parametrize("steps", range(0, 92, 2))
async def test_a_worker_that_dies_at_any_moment_neither_loses_nor_doubles_what_is_left(steps: int) -> None:
    book, store = Notebook(), JsonStore()

    def program() -> Platform:
        phase = Phase("p", [in_a_loop(book), book.task("b")], review=PhaseReview(accept(2)))
        return Platform(models=ScriptedModel(), store=store).register(book.ensemble(phase))

    run_id = await program().enqueue("E", {})
    working = asyncio.create_task(Worker(program()).run_once())
    for _ in range(steps):
        await asyncio.sleep(0)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await Worker(program()).run_once()
    assert (await load_record(store, run_id)).status is RunStatus.COMPLETED
    assert await book.remembered() == ["a2", "b2"]
    assert (await book.noted("a"), await book.noted("b")) == (["about a2"], ["about b2"])
