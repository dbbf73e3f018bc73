"""Guardrails at work: what they stop, and what they cost."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from tactician import Agent, RunContext, guardrails
from tactician.conversation import Conversation
from tactician.events import Event
from tactician.guardrails import GuardrailChecked, GuardrailError, GuardrailResult
from tactician.llm import ModelRequest, ModelResponse, ToolResult, UserMessage
from tactician.llm import ToolCall as Called
from tactician.loop import TurnStarted
from tactician.runs import OutputError
from tactician.testing import ScriptedModel, ToolCall


class Bill(BaseModel):
    amount: int


def no_secrets(text: str) -> GuardrailResult:
    return guardrails.failed("secrets") if "secret" in text else guardrails.passed()


@guardrails.input_guardrail(concurrent=True)
def no_secrets_meanwhile(text: str) -> GuardrailResult:
    return no_secrets(text)


def pay(amount: int) -> str:
    return f"paid {amount}"


class TestInput:
    async def test_what_it_refuses_is_not_sent(self) -> None:
        model = ScriptedModel("x")
        agent = Agent("A", model=model, input_guardrails=[no_secrets])

        with pytest.raises(
            GuardrailError, match="A: the input guardrail 'no_secrets' stopped the run: secrets"
        ) as raised:
            await agent.run("a secret")

        assert (raised.value.guardrail, raised.value.kind, raised.value.reason) == ("no_secrets", "input", "secrets")
        assert model.calls == []

    async def test_what_passes_goes_on(self) -> None:
        assert (await Agent("A", model=ScriptedModel("x"), input_guardrails=[no_secrets]).run("hi")).output == "x"

    async def test_streaming_runs_are_checked_too(self) -> None:
        model = ScriptedModel("x")
        with pytest.raises(GuardrailError):
            async for _ in Agent("A", model=model, input_guardrails=[no_secrets]).stream("a secret"):
                pass
        assert model.calls == []

    async def test_only_new_input_is_checked_and_refused_input_leaves_the_conversation(self) -> None:
        conversation = Conversation()
        agent = Agent("A", model=ScriptedModel("hello", "still here"), input_guardrails=[no_secrets])
        await agent.run("hi", conversation=conversation)
        with pytest.raises(GuardrailError):
            await agent.run("a secret", conversation=conversation)

        await agent.run("hi again", conversation=conversation)

        said = [message.text for message in conversation.messages if isinstance(message, UserMessage)]
        assert said == ["hi", "hi again"]

    async def test_one_that_runs_meanwhile_stops_the_model(self) -> None:
        stopped = asyncio.Event()

        class Slow(ScriptedModel):
            async def generate(self, request: ModelRequest) -> ModelResponse:
                started.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    stopped.set()
                raise AssertionError

        started = asyncio.Event()

        @guardrails.input_guardrail(concurrent=True)
        async def late(text: str) -> GuardrailResult:
            await started.wait()
            return guardrails.failed("no")

        before = asyncio.all_tasks()
        with pytest.raises(GuardrailError, match="late"):
            await Agent("A", model=Slow(), input_guardrails=[late]).run("hi")

        assert stopped.is_set()
        assert asyncio.all_tasks() == before

    async def test_one_that_runs_meanwhile_and_passes_changes_nothing(self) -> None:
        agent = Agent("A", model=ScriptedModel("x"), input_guardrails=[no_secrets_meanwhile])

        assert (await agent.run("hi")).output == "x"
        with pytest.raises(GuardrailError):
            await agent.run("a secret")

    async def test_the_others_are_asked_before(self) -> None:
        events: list[Event] = []
        model = ScriptedModel("x")
        agent = Agent("A", model=model, input_guardrails=[no_secrets_meanwhile, no_secrets])

        await agent.run("hi", context=RunContext.over(model, events.append))

        kinds = [event.guardrail if isinstance(event, GuardrailChecked) else "asked" for event in events
                 if isinstance(event, GuardrailChecked | TurnStarted)]  # fmt: skip
        assert kinds[0] == "no_secrets"
        assert set(kinds[1:]) == {"asked", "no_secrets_meanwhile"}


class TestOutput:
    async def test_what_it_refuses_is_not_given_out(self) -> None:
        with pytest.raises(GuardrailError, match="output guardrail 'no_secrets'") as raised:
            await Agent("A", model=ScriptedModel("the secret"), output_guardrails=[no_secrets]).run("hi")

        assert raised.value.result.usage.requests == 1

    async def test_it_may_have_the_model_answer_again(self) -> None:
        def polite(text: str) -> GuardrailResult:
            return guardrails.passed() if "please" in text else guardrails.retry("say please")

        model = ScriptedModel("do it", "do it, please")
        result = await Agent("A", model=model, output_guardrails=[polite]).run("hi")

        assert result.output == "do it, please"
        assert "That answer is not accepted: say please" in model.calls[1].prompt

    async def test_but_not_without_an_end(self) -> None:
        def never(text: str) -> GuardrailResult:
            return guardrails.retry("no")

        with pytest.raises(OutputError, match="no valid str in 3 attempts: no"):
            await Agent("A", model=ScriptedModel(*"abc"), output_guardrails=[never]).run("hi")

    async def test_it_sees_the_object(self) -> None:
        def cheap(bill: Bill) -> GuardrailResult:
            return guardrails.passed() if bill.amount < 10 else guardrails.retry(f"{bill.amount} is too much")

        model = ScriptedModel(Bill(amount=50), Bill(amount=5))
        result = await Agent("A", model=model, output_type=Bill, output_guardrails=[cheap]).run("hi")

        assert result.output == Bill(amount=5)


class TestTools:
    async def test_a_call_that_is_refused_stops_the_run_before_the_tool(self) -> None:
        paid: list[int] = []

        def spend(amount: int) -> None:
            paid.append(amount)

        def little(call: Called) -> GuardrailResult:
            return guardrails.failed("too much") if call.parse_arguments()["amount"] != 1 else guardrails.passed()

        model = ScriptedModel(ToolCall("spend", amount=100))
        with pytest.raises(GuardrailError, match="tool input guardrail 'little' stopped the run: too much"):
            await Agent("A", model=model, tools=[spend], tool_input_guardrails=[little]).run("hi")
        assert paid == []

    async def test_or_the_model_is_told_to_do_otherwise(self) -> None:
        def little(call: Called) -> GuardrailResult:
            return guardrails.retry("at most 1") if call.parse_arguments()["amount"] != 1 else guardrails.passed()

        model = ScriptedModel(ToolCall("pay", amount=100), ToolCall("pay", amount=1), "ok")
        result = await Agent("A", model=model, tools=[pay], tool_input_guardrails=[little]).run("hi")

        answers = [message.content for message in result.messages if isinstance(message, ToolResult)]
        assert answers == ["Not accepted: at most 1", "paid 1"]

    async def test_it_sees_the_arguments_as_they_are_run(self) -> None:
        from tactician.llm import AssistantMessage

        seen: list[object] = []

        def look(call: Called) -> GuardrailResult:
            seen.append(call.parse_arguments())
            return guardrails.passed()

        broken = ModelResponse(AssistantMessage((Called("1", "pay", "{'amount': 3,}"),)), finish_reason="tool_calls")
        await Agent("A", model=ScriptedModel(broken, "ok"), tools=[pay], tool_input_guardrails=[look]).run("hi")

        assert seen == [{"amount": 3}]

    async def test_what_a_tool_returns_is_checked(self) -> None:
        def clean(call: Called, content: str) -> GuardrailResult:
            return no_secrets(content)

        def leak() -> str:
            return "a secret"

        with pytest.raises(GuardrailError, match="tool output guardrail 'clean'"):
            await Agent("A", model=ScriptedModel(ToolCall("leak")), tools=[leak], tool_output_guardrails=[clean]).run(
                "x"
            )

    async def test_failures_of_tools_are_not_checked(self) -> None:
        def never(call: Called, content: str) -> GuardrailResult:
            return guardrails.failed("never")

        def broken() -> str:
            raise LookupError("x")

        model = ScriptedModel(ToolCall("broken"), "ok")
        result = await Agent("A", model=model, tools=[broken], tool_output_guardrails=[never]).run("x")

        assert result.output == "ok"
