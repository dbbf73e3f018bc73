"""Actions with tasks of their own, in which people are asked, and what else than an `Exception` they may raise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    PlannedAgent,
    Platform,
    ProcessStatus,
    RunContext,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    condition,
    planned_agent,
    reject,
    simple_agent,
    tool,
)
from tactician.platform import Worker
from tactician.process import AgentProcess, OperationContext, Rejection
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.failures import without_lines
from tests.support.stored import respond


@dataclass
class Pair:
    text: str


@planned_agent(description="asks twice, in a group of tasks")
class InGroup:
    @achieves_goal("asked")
    @action
    async def ask(self, topic: UserInput) -> Pair:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(ask_human(str, "one?"))
            two = group.create_task(ask_human(str, "two?"))
        return Pair(f"{one.result()} {two.result()}")


@planned_agent(description="asks twice, in a group inside a group")
class InGroups:
    @achieves_goal("asked")
    @action
    async def ask(self, topic: UserInput) -> Pair:
        async def inside() -> str:
            async with asyncio.TaskGroup() as group:
                asked = group.create_task(ask_human(str, "two?"))
            return asked.result()

        async with asyncio.TaskGroup() as group:
            one, two = group.create_task(ask_human(str, "one?")), group.create_task(inside())
        return Pair(f"{one.result()} {two.result()}")


@planned_agent(description="asks twice, gathered")
class Gathered:
    @achieves_goal("asked")
    @action
    async def ask(self, topic: UserInput) -> Pair:
        one, two = await asyncio.gather(ask_human(str, "one?"), ask_human(str, "two?"))
        return Pair(f"{one} {two}")


async def answered(platform: Platform, process: AgentProcess, *, last_first: bool) -> AgentProcess:
    """The process, with every question answered by its own first word."""
    while process.status is ProcessStatus.WAITING:
        place = -1 if last_first else 0
        process = await respond(platform, process, process.pending[place].prompt.removesuffix("?"), place)
    return process


@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("agent", [InGroup, Gathered])
@pytest.mark.parametrize("store", [None, MemoryStore()])
async def test_questions_of_several_tasks_are_pending_at_once(
    agent: type[InGroup], store: MemoryStore | None, last_first: bool
) -> None:
    platform = Platform(ScriptedModel(), store=store).register(agent())
    process = await platform.start(agent.__name__, "x")

    assert [request.prompt for request in process.pending] == ["one?", "two?"]
    assert (await answered(platform, process, last_first=last_first)).result == Pair("one two")


async def test_questions_in_nested_groups() -> None:
    platform = Platform(ScriptedModel())
    process = await platform.start(InGroups(), "x")

    assert process.status is ProcessStatus.WAITING
    assert (await answered(platform, process, last_first=True)).result == Pair("one two")


async def test_an_answer_is_that_of_its_question_whichever_is_asked_first_then() -> None:
    class Changing:
        def __init__(self) -> None:
            self.order = ["one", "two"]

    changing = Changing()

    @planned_agent(description="asks in another order each time")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> Pair:
            asked = {name: asyncio.ensure_future(ask_human(str, f"{name}?")) for name in changing.order}
            changing.order.reverse()
            await asyncio.gather(*asked.values())
            return Pair(f"{asked['one'].result()} {asked['two'].result()}")

    platform = Platform(ScriptedModel())
    process = await platform.start(Asker(), "x")

    assert (await answered(platform, process, last_first=False)).result == Pair("one two")


@planned_agent(description="asks")
class Asker:
    @achieves_goal("asked")
    @action
    async def ask(self, topic: UserInput) -> Pair:
        return Pair(await ask_human(str, topic.content))


@planned_agent(description="has two others ask, in a group of tasks")
class Leader:
    @achieves_goal("asked")
    @action
    async def lead(self, topic: UserInput, context: OperationContext) -> str:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(PlannedAgent(Asker()).run(UserInput(text), context=context.run))
                for text in ("one?", "two?")
            ]
        return " ".join(str(task.result().output) for task in tasks)


async def test_processes_inside_that_ask_in_a_group() -> None:
    store = MemoryStore()
    platform = Platform(ScriptedModel(), store=store).register(Leader())
    await platform.enqueue("Leader", "x")
    assert await Worker(platform).run_once()
    (record,) = await platform.list_waiting_runs()

    process = await answered(platform, await platform.process(record.id), last_first=False)

    assert process.result == "Pair(text='one') Pair(text='two')"


async def test_a_tool_whose_tasks_ask() -> None:
    @tool
    async def ask_both(context: RunContext) -> str:
        """Asks two others."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(PlannedAgent(Asker()).run(UserInput(text), context=context))
                for text in ("one?", "two?")
            ]
        return " ".join(str(task.result().output) for task in tasks)

    @planned_agent(description="has a model use the tool")
    class Using:
        @achieves_goal("asked")
        @action
        async def use(self, topic: UserInput, context: OperationContext) -> Pair:
            agent = Agent("User", tools=[ask_both], parallel_tools=False)
            return Pair((await agent.run("go", context=context.run)).output)

    platform = Platform(ScriptedModel(ToolCall("ask_both"), "asked")).register(Using())
    process = await platform.start("Using", "x")
    assert process.status is ProcessStatus.WAITING, process.failure

    assert (await answered(platform, process, last_first=False)).result == Pair("asked")


async def test_a_flow_whose_step_has_tasks_that_ask() -> None:
    async def both(text: str) -> str:
        async with asyncio.TaskGroup() as group:
            one, two = group.create_task(ask_human(str, "one?")), group.create_task(ask_human(str, "two?"))
        return f"{one.result()} {two.result()}"

    flow = simple_agent(str, both)
    result = await flow.run("x")
    while result.status is RunStatus.WAITING:
        answers = {request.id: request.prompt.removesuffix("?") for request in result.pending}
        result = await flow.resume(str(result.run_id), answers)

    assert result.output == "one two"


async def test_where_one_task_asks_and_another_fails_the_action_has_failed() -> None:
    @planned_agent(description="asks and fails")
    class Both:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> Pair:
            async def fail() -> str:
                raise ValueError("broken")

            async with asyncio.TaskGroup() as group:
                group.create_task(ask_human(str, "one?"))
                group.create_task(fail())
            return Pair("never")

    process = await Platform(ScriptedModel()).start(Both(), "x")

    assert (process.status, without_lines(process.failure)) == (ProcessStatus.FAILED, "ask raised ValueError: broken")


async def test_one_of_several_questions_is_rejected() -> None:
    platform = Platform(ScriptedModel())
    process = await platform.start(InGroup(), "x")

    await platform.respond(process.id, process.pending[0].id, reject("no time"))

    assert process.status is ProcessStatus.STUCK
    assert process.last(Rejection) == Rejection("ask", "one?", "no time")


class Odd(BaseException):
    """Something that code which catches exceptions does not see."""


@planned_agent(description="ends the program")
class Exits:
    @achieves_goal("ended")
    @action
    def end(self, topic: UserInput) -> Pair:
        raise SystemExit(3)


@planned_agent(description="raises something odd in a condition")
class OddCondition:
    @condition
    def is_odd(self) -> bool:
        raise Odd("oh")

    @achieves_goal("ended")
    @action(pre=["is_odd"])
    def end(self, topic: UserInput) -> Pair:
        return Pair("never")


@pytest.mark.parametrize(
    ("agent", "failure"),
    [(Exits, "end raised PermanentError: SystemExit: 3"), (OddCondition, "planning failed: PermanentError: Odd: oh")],
)
async def test_what_a_process_raises_ends_only_the_process(agent: type[Exits], failure: str) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(agent(), Calm())
    await platform.enqueue(agent.__name__, "x")
    stop = asyncio.Event()
    calm = await platform.enqueue("Calm", "x")
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(Worker(platform, poll=0.01, max_parallel=2).run(stop))
        while (await platform.process(calm)).status is not ProcessStatus.COMPLETED:  # noqa: ASYNC110 - by the worker
            await asyncio.sleep(0)
        stop.set()

    (failed,) = await RunStore(platform.store).find(statuses=("failed",))
    assert str((await platform.process(failed.run_id)).failure).startswith(failure)


@planned_agent(description="does its work")
class Calm:
    @achieves_goal("done")
    @action
    def work(self, topic: UserInput) -> Pair:
        return Pair("done")
