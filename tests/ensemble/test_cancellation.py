"""A run of an ensemble that is cancelled after any step of the event loop leaves no task, connection or lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest

from tactician import (
    END,
    Agent,
    Edge,
    Ensemble,
    Graph,
    HierarchicalConstraints,
    InProcessMemory,
    InProcessReflections,
    Loop,
    MapReduce,
    Phase,
    PhaseReview,
    Platform,
    Reflection,
    Review,
    RunContext,
    Scope,
    Task,
    Workflow,
)
from tactician.ensemble import ReviewDecision, TaskInput, TaskReflection
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse
from tactician.platform import Worker
from tactician.runs import PendingRequest
from tactician.runs.progress.store import RunStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore

MOST_STEPS = 2_000


class Connections:
    """Connections of models, tools and handlers, of which some are open."""

    def __init__(self) -> None:
        self.opened = 0
        self.open = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Open a connection, which needs a step to close too."""
        self.opened += 1
        self.open += 1
        try:
            await asyncio.sleep(0)
            yield
        finally:
            self.open -= 1

    async def handle(self, task: TaskInput) -> str:
        """Do a task."""
        async with self.connect():
            await asyncio.sleep(0)
        return task.task_id


class Calling(ScriptedModel):
    """Model that calls a tool first, and then answers."""

    features = Features(tools=True)

    def __init__(self, connections: Connections, call: ToolCall) -> None:
        super().__init__()
        self._connections = connections
        self._call = call

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the call, or the answer."""
        async with self._connections.connect():
            is_new = not any(isinstance(message, AssistantMessage) for message in request.messages)
            self.script(self._call if is_new else "done")
            return await super().generate(request)


def graph(connections: Connections) -> Ensemble:
    """Handlers beside each other, and an agent with a tool that reads their outputs."""

    async def look_up(topic: str) -> str:
        """Look a topic up."""
        async with connections.connect():
            return topic

    first = [Task(name, handler=connections.handle) for name in "abc"]
    agent = Agent("Reader", model=Calling(connections, ToolCall("look_up", topic="x")), tools=[look_up])
    return Ensemble("E", [*first, Task("Read", context=first, agent=agent)])


def phases(connections: Connections) -> Ensemble:
    """Two phases, the second of which runs twice."""
    attempts = count(1)

    async def review(task: TaskInput) -> str:
        async with connections.connect():
            return "RETRY: again" if next(attempts) == 1 else "APPROVE"

    gather = Phase("gather", [Task(name, handler=connections.handle) for name in "ab"])
    write = Phase("write", [Task("c", handler=connections.handle)], after=[gather], review=PhaseReview(review))
    return Ensemble("E", phases=[gather, write])


def hierarchy(connections: Connections) -> Ensemble:
    """A manager that delegates to a handler."""
    return Ensemble(
        "E",
        [Task("a", handler=connections.handle)],
        workflow=Workflow.HIERARCHICAL,
        manager=Agent("Boss", model=Calling(connections, ToolCall("delegate_task", role="a", task="Go"))),
        constraints=HierarchicalConstraints(required_workers={"a"}),
    )


def groups(connections: Connections) -> Ensemble:
    """A map-reduce, a loop over its output, and a graph."""
    letters = MapReduce(
        ["x", "y"],
        id="letters",
        map=Task("Read {item}", handler=connections.handle),
        reduce=Task("Sum up", handler=connections.handle),
    )
    loop = Loop([Task("a", handler=connections.handle)], id="loop", max_iterations=2, context=[letters])
    states = {"b": Task("b", handler=connections.handle), "c": Task("c", handler=connections.handle)}
    return Ensemble("E", [letters, loop, Graph(states, id="graph", start="b", edges=[Edge("b", "c"), Edge("c", END)])])


def learning(connections: Connections) -> Ensemble:
    """Tasks that somebody reviews, with a memory and reflections that are written afterwards."""

    class Diary(InProcessReflections):
        async def load(self, identity: str) -> list[TaskReflection]:
            async with connections.connect():
                return await super().load(identity)

        async def store(self, identity: str, reflection: TaskReflection) -> None:
            async with connections.connect():
                await super().store(identity, reflection)

    async def decide(request: PendingRequest) -> ReviewDecision:
        async with connections.connect():
            return ReviewDecision.approve()

    reflect = Reflection(strategy=lambda review: "Write less.")
    task = Task("a", handler=connections.handle, memory=["all"], reflect=reflect, review=Review.after())
    return Ensemble("E", [task], memory=InProcessMemory({"all": Scope()}), reflections=Diary(), reviewer=decide)


async def run_steps(task: asyncio.Task[object], steps: int) -> bool:
    """Let the event loop take some steps, and return whether a task has ended by then."""
    for _ in range(steps):
        await asyncio.sleep(0)
    return task.done()


async def check_nothing_is_left(
    start: Callable[[Ensemble, Platform], asyncio.Task[object]], build: Callable[[Connections], Ensemble], steps: int
) -> bool:
    """Cancel a run after some steps, and return whether it had ended before."""
    connections, store, before = Connections(), JsonStore(), asyncio.all_tasks()
    ensemble = build(connections)
    platform = Platform(models=ScriptedModel(), store=store).register(ensemble)
    running = start(ensemble, platform)
    if await run_steps(running, steps):
        running.result()
        assert connections.opened >= 3
        return True
    running.cancel()
    await asyncio.wait([running], timeout=10)
    assert running.done()
    assert asyncio.all_tasks() == before, f"cancelled after {steps} steps: a task is left"
    assert connections.open == 0, f"cancelled after {steps} steps: a connection is open"
    runs = RunStore(store)
    for record in await runs.find():
        if not record.has_ended:
            claimed = await runs.claim("another worker", 30.0, run_id=record.run_id)
            assert claimed is not None, f"cancelled after {steps} steps: its lease is held"
    return False


def start_run(ensemble: Ensemble, platform: Platform) -> asyncio.Task[object]:
    """Start a run whose caller waits for it."""
    return asyncio.create_task(_run(ensemble, platform.context()))


def start_worker(ensemble: Ensemble, platform: Platform) -> asyncio.Task[object]:
    """Start a worker that takes a run."""

    async def work() -> object:
        await platform.enqueue("E", {})
        return await Worker(platform).run_once()

    return asyncio.create_task(work())


async def _run(ensemble: Ensemble, context: RunContext) -> object:
    return await ensemble.run({}, context=context)


@pytest.mark.parametrize("start", [start_run, start_worker])
@pytest.mark.parametrize("build", [graph, phases, hierarchy, groups, learning])
async def test_a_run_that_is_cancelled_after_any_step_leaves_nothing(
    build: Callable[[Connections], Ensemble], start: Callable[[Ensemble, Platform], asyncio.Task[object]]
) -> None:
    for steps in range(MOST_STEPS):
        if await check_nothing_is_left(start, build, steps):
            assert steps > 20
            return
    raise AssertionError("the run has no end")
