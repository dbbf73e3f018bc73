"""Runs that wait: for an approval, or for the caller to run a tool."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tactician import Agent, Budget, RunContext, RunResult, approve, reject, tool
from tactician.errors import ModelServerError, RunConflictError, RunNotFoundError, StoredStateError
from tactician.events import Event
from tactician.llm import AssistantMessage, ModelResponse, ToolResult
from tactician.llm import ToolCall as LlmToolCall
from tactician.loop import ToolCalled
from tactician.runs import RunStatus, RunSuspended
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall


class Bank:
    """Tools with consequences."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    @tool(needs_approval=True)
    def pay(self, amount: int) -> str:
        """Pay an amount."""
        self.paid.append(amount)
        return f"paid {amount}"

    @tool(client_side=True)
    def location(self, precise: bool = False) -> str:
        """Where the user is."""
        raise AssertionError("the caller runs it")

    def balance(self) -> int:
        return 100


def over(model: ScriptedModel, store: MemoryStore, events: list[Event] | None = None) -> RunContext:
    return RunContext.over(model, None if events is None else events.append, store=store)


def results_of(result: RunResult[object]) -> list[str]:
    return [message.content for message in result.messages if isinstance(message, ToolResult)]


class TestApproval:
    async def test_a_run_that_needs_an_approval_waits_and_says_for_what(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=5))

        result = await Agent("Clerk", tools=[bank.pay]).run("pay 5", context=over(model, store))

        assert result.status is RunStatus.WAITING
        assert bank.paid == []
        (pending,) = result.pending
        assert (pending.kind, pending.path) == ("approval", ("Clerk",))
        assert pending.call is not None
        assert pending.call.name == "pay"
        assert pending.prompt == 'May pay({"amount":5}) be called?'
        assert pending.schema is not None
        assert len(store) == 1

    async def test_an_approval_is_for_a_single_call_though_the_model_uses_its_id_again(self) -> None:
        def call(amount: int) -> ModelResponse:
            return ModelResponse(AssistantMessage((LlmToolCall("call_0", "pay", f'{{"amount":{amount}}}'),)))

        bank, store = Bank(), MemoryStore()
        clerk = Agent("Clerk", tools=[bank.pay])
        result = await clerk.run("pay", context=over(ScriptedModel(call(5)), store))
        for amounts in ([5], [5, 1000]):
            (pending,) = result.pending
            steps = [call(1000)] if amounts == [5] else ["Paid."]
            result = await clerk.resume(
                result.run_id, {pending.id: approve()}, context=over(ScriptedModel(*steps), store)
            )
            assert bank.paid == amounts

        assert result.output == "Paid."

    async def test_it_goes_on_elsewhere_when_it_is_approved(self) -> None:
        bank, store = Bank(), MemoryStore()
        waiting = await Agent("Clerk", tools=[bank.pay]).run(
            "pay 5", context=over(ScriptedModel(ToolCall("pay", amount=5)), store)
        )
        # Another agent object and another model stand for another process: all that is shared is the store's text.
        model = ScriptedModel("It is paid.")
        result = await Agent("Clerk", tools=[bank.pay]).resume(
            waiting.run_id, {waiting.pending[0].id: approve()}, context=over(model, store)
        )

        assert (result.output, bank.paid) == ("It is paid.", [5])
        assert result.run_id == waiting.run_id
        assert result.usage.requests == 2, "what was used before the pause counts too"
        assert [record.status for record in await RunStore(store).find()] == [RunStatus.COMPLETED]

    @pytest.mark.parametrize("response", [reject("too much"), False])
    async def test_a_rejection_is_told_to_the_model(self, response: object) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=5), "I could not pay.")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay 5", context=over(model, store))

        result = await agent.resume(waiting.run_id, {waiting.pending[0].id: response}, context=over(model, store))

        assert (result.output, bank.paid) == ("I could not pay.", [])
        assert results_of(result)[0].startswith("Not run: the call was rejected")

    async def test_the_arguments_can_be_changed(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=500), "paid less")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))

        await agent.resume(waiting.run_id, {waiting.pending[0].id: approve({"amount": 5})}, context=over(model, store))

        assert bank.paid == [5]

    async def test_the_caller_may_have_run_the_tool_itself(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=5), "done")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))

        result = await agent.resume(waiting.run_id, {waiting.pending[0].id: "paid by hand"}, context=over(model, store))

        assert (results_of(result), bank.paid) == (["paid by hand"], [])

    async def test_whether_it_is_needed_may_depend_on_the_arguments(self) -> None:
        paid: list[int] = []

        def is_much(arguments: Mapping[str, object]) -> bool:
            return int(str(arguments["amount"])) > 10

        @tool(needs_approval=is_much)
        def pay(amount: int) -> str:
            paid.append(amount)
            return "paid"

        model = ScriptedModel(ToolCall("pay", amount=5), ToolCall("pay", amount=50))

        result = await Agent("Clerk", tools=[pay]).run("pay", context=over(model, MemoryStore()))

        assert (result.status, paid) == (RunStatus.WAITING, [5])


class TestSeveral:
    async def test_the_other_calls_of_the_turn_are_run_and_each_that_waits_is_decided(self) -> None:
        bank, store = Bank(), MemoryStore()
        calls = [ToolCall("pay", amount=1), ToolCall("balance"), ToolCall("pay", amount=2), ToolCall("location")]
        model = ScriptedModel(calls, "done")
        agent = Agent("Clerk", tools=[bank.pay, bank.balance, bank.location])
        waiting = await agent.run("pay", context=over(model, store))
        first, second, third = waiting.pending
        assert [first.kind, second.kind, third.kind] == ["approval", "approval", "tool"]

        responses = {first.id: approve(), second.id: reject("no"), third.id: "Paris"}
        result = await agent.resume(waiting.run_id, responses, context=over(model, store))

        assert bank.paid == [1]
        assert results_of(result) == ["paid 1", "100", "Not run: the call was rejected: no", "Paris"]

    async def test_they_can_be_decided_one_by_one(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel([ToolCall("pay", amount=1), ToolCall("pay", amount=2)], "done")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))
        first, second = waiting.pending

        still = await agent.resume(waiting.run_id, {second.id: approve()}, context=over(model, store))

        assert (still.status, still.pending, bank.paid) == (RunStatus.WAITING, (first,), [2])
        assert await agent.list_pending(waiting.run_id, context=over(model, store)) == (first,)
        result = await agent.resume(waiting.run_id, {first.id: approve()}, context=over(model, store))
        assert (result.output, bank.paid) == ("done", [2, 1])
        assert results_of(result) == ["paid 1", "paid 2"]

    async def test_a_run_may_wait_again_and_again(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(*[ToolCall("pay", amount=n) for n in (1, 2, 3)], "done")
        agent = Agent("Clerk", tools=[bank.pay])
        result = await agent.run("pay", context=over(model, store))
        while result.status is RunStatus.WAITING:
            result = await agent.resume(result.run_id, {result.pending[0].id: True}, context=over(model, store))

        assert (result.output, bank.paid) == ("done", [1, 2, 3])
        assert [record.status for record in await RunStore(store).find()] == [RunStatus.COMPLETED]


class TestClientSideTools:
    async def test_the_caller_runs_the_tool_and_says_what_it_gave(self) -> None:
        store = MemoryStore()
        model = ScriptedModel(ToolCall("location"), "You are in Paris.")
        agent = Agent("Guide", tools=[Bank().location])
        waiting = await agent.run("where am I?", context=over(model, store))
        assert waiting.pending[0].kind == "tool"

        result = await agent.resume(
            waiting.run_id, {waiting.pending[0].id: {"city": "Paris"}}, context=over(model, store)
        )

        assert results_of(result) == ['{"city":"Paris"}']

    async def test_or_that_it_failed(self) -> None:
        store = MemoryStore()
        model = ScriptedModel(ToolCall("location"), "I do not know.")
        agent = Agent("Guide", tools=[Bank().location])
        waiting = await agent.run("where am I?", context=over(model, store))

        failure = PermissionError("the user said no")
        result = await agent.resume(waiting.run_id, {waiting.pending[0].id: failure}, context=over(model, store))

        assert results_of(result) == ["PermissionError: the user said no"]


class TestMistakes:
    async def test_a_run_that_does_not_wait(self) -> None:
        with pytest.raises(RunNotFoundError, match="Clerk: no run waits with the id 'abc': it is not in the store"):
            await Agent("Clerk").resume("abc", {}, context=over(ScriptedModel(), MemoryStore()))

    async def test_the_run_of_another_agent(self) -> None:
        bank, store = Bank(), MemoryStore()
        waiting = await Agent("Clerk", tools=[bank.pay]).run(
            "pay", context=over(ScriptedModel(ToolCall("pay", amount=1)), store)
        )

        with pytest.raises(RunNotFoundError, match="it is a run of 'Clerk'"):
            await Agent("Thief", tools=[bank.pay]).resume(
                waiting.run_id, {waiting.pending[0].id: True}, context=over(ScriptedModel(), store)
            )

    async def test_a_request_that_it_does_not_wait_for(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=1))
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))

        with pytest.raises(RunNotFoundError, match="does not wait for \\['other'\\]; it waits for"):
            await agent.resume(waiting.run_id, {"other": True}, context=over(model, store))
        assert bank.paid == []

    async def test_two_that_go_on_with_it_at_once(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=1), "done")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))
        record = await RunStore(store).load(waiting.run_id)
        assert record is not None
        await RunStore(store).save(record)  # somebody else was faster

        with pytest.raises(RunConflictError, match="changed by another worker"):
            await RunStore(store).save(record)

    @pytest.mark.parametrize("body", ["", "{}", "not json", '{"version": 2}', "[]"])
    async def test_a_state_that_cannot_be_read(self, body: str) -> None:
        store = MemoryStore()
        await RunStore(store).save(RunRecord(run_id="r1", name="Clerk", status=RunStatus.WAITING, body=body))

        with pytest.raises(StoredStateError, match="The state of the run cannot be read"):
            await Agent("Clerk").resume("r1", {}, context=over(ScriptedModel(), store))

    async def test_a_failure_after_the_pause_loses_nothing_and_runs_nothing_twice(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=1), ModelServerError("down"), "done")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store))
        responses = {waiting.pending[0].id: True}
        with pytest.raises(ModelServerError):
            await agent.resume(waiting.run_id, responses, context=over(model, store))

        result = await agent.resume(waiting.run_id, responses, context=over(model, store))

        assert (result.output, bank.paid) == ("done", [1])


class TestNested:
    async def test_an_agent_that_is_a_tool_may_wait(self) -> None:
        bank, store = Bank(), MemoryStore()
        clerk = Agent("Clerk", tools=[bank.pay])
        boss = Agent("Boss", tools=[clerk.as_tool()])
        model = ScriptedModel(
            ToolCall("clerk", request="pay 5"), ToolCall("pay", amount=5), "clerk: paid", "boss: all done"
        )
        waiting = await boss.run("pay my bills", context=over(model, store))
        assert waiting.pending[0].path == ("Boss", "Clerk")
        assert len(store) == 1, "the outermost run is kept, with all that is in it"

        result = await boss.resume(waiting.run_id, {waiting.pending[0].id: True}, context=over(model, store))

        assert (result.output, bank.paid) == ("boss: all done", [5])
        assert results_of(result) == ["clerk: paid"]
        assert result.usage.requests == 4
        model.assert_exhausted()

    async def test_a_budget_lasts_over_the_pause(self) -> None:
        bank, store = Bank(), MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=5), "done")
        agent = Agent("Clerk", tools=[bank.pay])
        waiting = await agent.run("pay", context=over(model, store), budget=Budget(turns=1))
        from tactician.runs import BudgetError

        with pytest.raises(BudgetError, match="Clerk: the budget of 1 turn is used up"):
            await agent.resume(waiting.run_id, {waiting.pending[0].id: True}, context=over(model, store))


async def test_listeners_hear_of_the_pause_and_of_the_call_once() -> None:
    bank, store, events = Bank(), MemoryStore(), list[Event]()
    model = ScriptedModel(ToolCall("pay", amount=5), "done")
    agent = Agent("Clerk", tools=[bank.pay])

    waiting = await agent.run("pay", context=over(model, store, events))
    await agent.resume(waiting.run_id, {waiting.pending[0].id: True}, context=over(model, store, events))

    (paused,) = [event for event in events if isinstance(event, RunSuspended)]
    assert paused.pending == waiting.pending
    assert {event.run_id for event in events} == {waiting.run_id}
    assert len([event for event in events if isinstance(event, ToolCalled)]) == 1


@pytest.mark.parametrize(
    "response", [{"granted": False, "reason": "no"}, {"granted": False, "reason": "no", "arguments": None}]
)
async def test_a_decision_may_come_as_json(response: dict[str, object]) -> None:
    bank, store = Bank(), MemoryStore()
    model = ScriptedModel(ToolCall("pay", amount=5), "done")
    agent = Agent("Clerk", tools=[bank.pay])
    waiting = await agent.run("pay", context=over(model, store))

    result = await agent.resume(waiting.run_id, {waiting.pending[0].id: response}, context=over(model, store))

    assert results_of(result) == ["Not run: the call was rejected: no"]
