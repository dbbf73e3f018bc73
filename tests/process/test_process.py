"""How a process ends, and what it knows afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Ai,
    Blackboard,
    Budget,
    OperationContext,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
)
from tactician.events import Event
from tactician.llm import Usage
from tactician.planning import Goal
from tactician.process import AgentProcess, ProcessEnded, ProcessFailedError
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.goals import GoalSpec
from tactician.runs import OutputError
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.support.failures import without_lines


@dataclass(frozen=True)
class Draft:
    text: str


@dataclass(frozen=True)
class Book:
    text: str


@planned_agent(description="writes a book with a model")
class Author:
    @action
    async def draft(self, user_input: UserInput, ai: Ai) -> Draft:
        return await ai.create(Draft, f"Draft {user_input.content}")

    @achieves_goal("a book")
    @action
    async def publish(self, draft: Draft, ai: Ai) -> Book:
        return await ai.create(Book, f"Publish {draft.text}")


async def test_a_completed_process_has_a_result_a_goal_and_a_history() -> None:
    process = await started(Author(), "x", model=ScriptedModel(Draft("d"), Book("b")))
    assert process.status is ProcessStatus.COMPLETED
    assert process.status.is_terminal
    assert process.result == process.last(Book) == Book("b")
    assert process.goal is not None
    assert process.goal.description == "a book"
    assert process.failure is None
    assert process.error is None
    first, second = process.history
    assert (first.action, first.outputs, first.error) == ("draft", ("Draft",), None)
    assert (second.action, second.outputs, second.error) == ("publish", ("Book",), None)
    assert 0 < first.started_at <= second.started_at
    assert first.seconds >= 0
    assert repr(process) == f"AgentProcess('Author', {process.id}, completed)"


async def test_usage_is_counted_for_each_action_and_for_the_process() -> None:
    process = await started(Author(), "x", model=ScriptedModel("no JSON", Draft("d"), Book("b")))
    assert [run.usage.requests for run in process.history] == [2, 1]
    assert [run.usage.total_tokens for run in process.history] == [30, 15]
    assert process.usage.total_tokens == 45
    assert process.tally.by_model["scripted"].requests == 3


async def test_a_cost_is_known_when_the_price_is() -> None:
    priced = await started(Author(), "x", model=ScriptedModel(Draft("d"), Book("b"), name="openai:gpt-4o"))
    assert priced.cost is not None
    assert priced.cost > 0
    assert priced.cost == pytest.approx(sum(run.cost or 0 for run in priced.history))
    unpriced = await started(Author(), "x", model=ScriptedModel(Draft("d"), Book("b")))
    assert unpriced.cost is None


async def test_a_process_without_model_calls_costs_nothing() -> None:
    process = await started(Author(), Draft("d"), Book("b"))
    assert process.cost == 0


@planned_agent(description="fails in its second action")
class Clumsy:
    @action
    def draft(self, user_input: UserInput) -> Draft:
        return Draft("d")

    @achieves_goal("a book")
    @action
    async def publish(self, draft: Draft, ai: Ai) -> Book:
        await ai.generate_text("try")
        raise ZeroDivisionError("the press is broken")


async def test_an_action_that_raises_fails_the_process() -> None:
    process = await started(Clumsy(), "x", model=ScriptedModel("ok"))
    assert process.status is ProcessStatus.FAILED
    assert without_lines(process.failure) == "publish raised ZeroDivisionError: the press is broken"
    assert isinstance(process.error, ZeroDivisionError)
    assert process.result is None
    assert process.last(Draft) == Draft("d")


async def test_the_history_of_a_failed_process_is_whole() -> None:
    process = await started(Clumsy(), "x", model=ScriptedModel("ok"))
    draft, publish = process.history
    assert draft.error is None
    assert publish.error == "ZeroDivisionError: the press is broken"
    assert publish.outputs == ()
    assert publish.usage.total_tokens == 15
    assert process.has_run("draft")
    assert not process.has_run("publish")


async def test_a_final_process_does_not_run_again() -> None:
    process = await started(Clumsy(), "x", model=ScriptedModel("ok"))
    history = process.history
    assert await process.run() is process
    assert process.status is ProcessStatus.FAILED
    assert process.history == history


async def test_invoke_raises_with_the_cause_and_the_process() -> None:
    platform = Platform(models=ScriptedModel("ok")).register(Clumsy())
    with pytest.raises(ProcessFailedError) as caught:
        await platform.invoke(Book, "x")
    assert without_lines(caught.value) == "Clumsy failed: publish raised ZeroDivisionError: the press is broken"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.process.status is ProcessStatus.FAILED
    assert steps(caught.value.process) == ["draft", "publish"]


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_condition_that_raises_fails_the_process(asynchronous: bool) -> None:
    @planned_agent(description="its condition is broken")
    class Broken:
        @condition(name="ready")
        async def ready_async(self, user_input: UserInput) -> bool:
            raise LookupError("no weather")

        @condition(name="ready too")
        def ready_sync(self, user_input: UserInput) -> bool:
            raise LookupError("no weather")

        @achieves_goal("a book")
        @action(pre=["ready" if asynchronous else "ready too"])
        def publish(self, user_input: UserInput) -> Book:
            return Book("")

    process = await started(Broken(), "x")
    assert process.status is ProcessStatus.FAILED
    name = "ready" if asynchronous else "ready too"
    assert without_lines(process.failure) == f"planning failed: LookupError: no weather (in the condition {name!r})"
    assert isinstance(process.error, LookupError)


async def test_a_model_that_never_gives_a_valid_object_fails_the_process() -> None:
    model = ScriptedModel("garbage", "{}", '{"text": 3}')
    process = await started(Author(), "x", model=model)
    assert process.status is ProcessStatus.FAILED
    assert isinstance(process.error, OutputError)
    assert process.error.last_reply == '{"text": 3}'
    assert process.failure is not None
    assert process.failure.startswith("draft raised OutputError: ")
    assert process.history[0].usage.requests == 3
    model.assert_exhausted()


@pytest.mark.parametrize(
    ("returned", "failure"),
    [
        (3, "publish raised TypeError: it declares Book and returned int"),
        (Draft("d"), "publish raised TypeError: it declares Book and returned Draft"),
    ],
)
async def test_an_action_that_returns_something_else_fails_the_process(returned: object, failure: str) -> None:
    @planned_agent(description="returns what it does not declare")
    class Liar:
        @achieves_goal("a book")
        @action
        def publish(self, user_input: UserInput) -> Book:
            return returned  # type: ignore[return-value]  # on purpose

    process = await started(Liar(), "x")
    assert process.status is ProcessStatus.FAILED
    assert process.failure == failure
    assert process.last(Book) is None
    assert process.history[0].error == failure.removeprefix("publish raised ")


async def test_an_action_that_declares_nothing_and_returns_something_fails_the_process() -> None:
    @planned_agent(description="returns what it does not declare")
    class Liar:
        @achieves_goal("done")
        @action
        def publish(self, user_input: UserInput) -> None:
            return 3  # type: ignore[return-value]  # on purpose

    assert (await started(Liar(), "x")).failure == "publish raised TypeError: it declares None and returned int"


async def test_a_stuck_process_can_be_helped_and_run_again() -> None:
    @planned_agent(description="needs a draft")
    class Printer:
        @achieves_goal("a book")
        @action
        def publish(self, draft: Draft) -> Book:
            return Book(draft.text)

    process = await started(Printer(), "no draft")
    assert process.status is ProcessStatus.STUCK
    assert not process.status.is_terminal
    process.blackboard.add(Draft("here"))
    again = await process.run()
    assert again is process
    assert again.status is ProcessStatus.COMPLETED
    assert again.failure is None
    assert again.result == Book("here")


async def test_being_stuck_after_some_work_keeps_the_history() -> None:
    @planned_agent(description="hides what it made")
    class Hider:
        @action
        def draft(self, user_input: UserInput, blackboard: Blackboard) -> Draft:
            blackboard.hide(user_input)
            return Draft("d")

        @achieves_goal("a book")
        @action
        def publish(self, draft: Draft, user_input: UserInput) -> Book:
            return Book("")

    process = await started(Hider(), "x")
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["draft"]
    assert process.failure == (
        "No plan reaches 'publish': 'UserInput' is missing and no action provides it; "
        "the nearest action is 'publish', which needs 'UserInput'. On the blackboard: Draft."
    )


async def test_a_goal_that_holds_from_the_start_needs_no_action() -> None:
    goal = GoalSpec(Goal("done", {"there": True}), "done", (Draft,), "it")
    spec = PlannedAgentSpec("agent", "has nothing to do", (), (goal,), {"there": lambda context: True})
    process = await AgentProcess(spec, Blackboard(Draft("d")), RunContext.over(ScriptedModel())).run()
    assert process.status is ProcessStatus.COMPLETED
    assert process.history == ()
    assert process.result == Draft("d")


async def test_a_process_starts_when_it_is_run() -> None:
    process = PlannedAgent(Author()).create_process("x", context=RunContext.over(ScriptedModel()))
    assert process.status is ProcessStatus.NOT_STARTED
    assert process.history == ()
    assert process.plan is None
    assert process.result is None


async def test_the_outlook_is_the_plan_and_changes_nothing() -> None:
    process = PlannedAgent(Author()).create_process("x", context=RunContext.over(ScriptedModel()))
    plan = await process.outlook()
    assert plan is not None
    assert str(plan) == "draft -> publish"
    assert process.status is ProcessStatus.NOT_STARTED


async def test_what_a_process_uses_is_counted_in_the_run_that_started_it() -> None:
    context = RunContext.over(ScriptedModel(Draft("d"), Book("b")))
    process = await PlannedAgent(Author()).create_process("x", context=context).run()
    assert process.parent_id is None
    assert context.tally.total.total_tokens == process.usage.total_tokens == 30


async def test_a_process_inside_an_action_is_counted_there() -> None:
    @planned_agent(description="lets another agent write")
    class Publisher:
        @achieves_goal("a book")
        @action
        async def delegate(self, user_input: UserInput, context: OperationContext) -> Book:
            result = await PlannedAgent(Author()).run(user_input, context=context.run)
            assert isinstance(result.output, Book)
            return result.output

    process = await started(Publisher(), "x", model=ScriptedModel(Draft("d"), Book("b")))
    assert process.result == Book("b")
    assert process.history[0].usage.requests == process.usage.requests == 2


class TestCancelling:
    """A run that is cancelled is killed, and says so."""

    async def killed(self, agent: object, reached: asyncio.Event) -> AgentProcess:
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel("ok")))
        task = asyncio.create_task(process.run())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return process

    async def test_in_an_action(self) -> None:
        reached = asyncio.Event()

        @planned_agent(description="waits in its second action")
        class Slow:
            @action
            async def draft(self, user_input: UserInput, ai: Ai) -> Draft:
                return Draft(await ai.generate_text("x"))

            @achieves_goal("a book")
            @action
            async def publish(self, draft: Draft) -> Book:
                reached.set()
                await asyncio.Event().wait()
                raise AssertionError("nobody sets the event")

        process = await self.killed(Slow(), reached)
        assert process.status is ProcessStatus.KILLED
        assert process.failure == "the run was cancelled"
        assert [(run.action, run.error) for run in process.history] == [("draft", None), ("publish", "cancelled")]
        assert process.history[0].usage.total_tokens == process.usage.total_tokens == 15
        assert process.last(Draft) == Draft("ok")
        await process.run()
        assert process.status is ProcessStatus.KILLED

    async def test_in_a_condition(self) -> None:
        reached = asyncio.Event()

        @planned_agent(description="waits in its condition")
        class Slow:
            @condition
            async def ready(self, user_input: UserInput) -> bool:
                reached.set()
                return await asyncio.Event().wait()

            @achieves_goal("a book")
            @action(pre=["ready"])
            def publish(self, user_input: UserInput) -> Book:
                raise AssertionError("never ready")

        process = await self.killed(Slow(), reached)
        assert process.status is ProcessStatus.KILLED
        assert process.history == ()

    async def test_through_the_platform_with_a_timeout(self) -> None:
        @planned_agent(description="never ends")
        class Endless:
            @achieves_goal("a book")
            @action
            async def publish(self, user_input: UserInput) -> Book:
                await asyncio.Event().wait()
                raise AssertionError("nobody sets the event")

        events: list[Event] = []
        platform = Platform(models=ScriptedModel(), on_event=events.append)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await platform.start(Endless(), "x")
        (process,) = await platform.processes()
        assert process.status is ProcessStatus.KILLED
        assert isinstance(last := events[-1], ProcessEnded)
        assert last.status is ProcessStatus.KILLED


class TestBudget:
    """A process stops before the action for which there is no budget."""

    async def stopped(self, budget: Budget, name: str = "scripted") -> AgentProcess:
        model = ScriptedModel(Draft("d"), Book("b"), name=name)
        return await started(Author(), "x", model=model, options=ProcessOptions(budget=budget))

    async def test_of_actions(self) -> None:
        process = await self.stopped(Budget(actions=1))
        assert process.status is ProcessStatus.TERMINATED
        assert process.failure == "the budget of 1 action is used up"
        assert steps(process) == ["draft"]
        assert process.last(Draft) == Draft("d")

    async def test_of_tokens(self) -> None:
        process = await self.stopped(Budget(tokens=15))
        assert process.status is ProcessStatus.TERMINATED
        assert process.failure == "the budget of 15 tokens is used up (15 used)"
        assert process.history[0].usage.total_tokens == 15

    async def test_of_cost(self) -> None:
        process = await self.stopped(Budget(cost=0.00001), name="openai:gpt-4o")
        assert process.status is ProcessStatus.TERMINATED
        assert process.failure is not None
        assert process.failure.startswith("the budget of $")
        assert steps(process) == ["draft"]

    async def test_of_cost_counts_what_is_known_beside_what_is_not(self) -> None:
        @planned_agent(description="asks two models")
        class Mixed(Author):
            @action
            async def draft(self, user_input: UserInput, run: RunContext) -> Draft:  # type: ignore[override]
                for name in ("openai:gpt-4o", "homemade:model"):
                    run.tally.add(Usage(1000, 1000, requests=1, model=name))
                return Draft("d")

        process = await started(Mixed(), "x", options=ProcessOptions(budget=Budget(cost=0.001)))
        assert process.cost is None
        assert process.status is ProcessStatus.TERMINATED

    async def test_that_is_just_enough(self) -> None:
        assert (await self.stopped(Budget(actions=2, tokens=30))).status is ProcessStatus.COMPLETED

    async def test_without_limits(self) -> None:
        unlimited = Budget(actions=None, tokens=None, cost=None)
        assert (await self.stopped(unlimited, name="openai:gpt-4o")).status is ProcessStatus.COMPLETED

    async def test_stops_invoke_with_an_error(self) -> None:
        platform = Platform(models=ScriptedModel(Draft("d"))).register(Author())
        with pytest.raises(ProcessFailedError, match="Author was terminated: the budget of 1 action is used up"):
            await platform.invoke(Book, "x", options=ProcessOptions(budget=Budget(actions=1)))


async def test_processes_of_one_agent_share_nothing() -> None:
    @planned_agent(description="counts to five with a model in between")
    class Shared:
        @action(can_rerun=True)
        async def count(self, user_input: UserInput, draft: Draft | None, ai: Ai) -> Draft:
            await asyncio.sleep(0)
            mark = await ai.generate_text(user_input.content)
            return Draft((draft.text if draft else user_input.content) + mark)

        @condition
        async def enough(self, draft: Draft) -> bool:
            await asyncio.sleep(0)
            return draft.text.endswith("!" * 5)

        @achieves_goal("counted")
        @action(pre=["enough"])
        def finish(self, draft: Draft) -> Book:
            return Book(draft.text)

    platform = Platform(models=ScriptedModel().when(prompt_contains="").reply("!"))
    agent = PlannedAgent(Shared())
    processes = await asyncio.gather(*(platform.start(agent, f"number {n}") for n in range(200)))
    assert [process.result for process in processes] == [Book(f"number {n}!!!!!") for n in range(200)]
    assert {process.usage.requests for process in processes} == {5}
    assert all(len(process.history) == 6 for process in processes)
    assert len({process.id for process in processes}) == 200
    assert await platform.processes() == list(processes)
