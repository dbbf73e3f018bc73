"""Handing a conversation on."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import Agent, RunContext, RunResult, guardrails, handoff, tool
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.llm import AssistantMessage, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.loop import HandedOff, last_messages, without_tools
from tactician.runs import HandoffError, OutputError
from tactician.testing import ScriptedModel, ToolCall


class Bill(BaseModel):
    amount: int


class Reply(BaseModel):
    text: str


def lookup(n: int) -> str:
    return f"order {n}"


def billing(*steps: object, **options: object) -> tuple[Agent[str], ScriptedModel]:
    model = ScriptedModel(*steps)
    return Agent("Billing Desk", model=model, instructions="You do bills."), model


class TestTheTool:
    async def test_its_name_and_description_come_from_the_target(self) -> None:
        desk, _ = billing("hi")
        model = ScriptedModel("no")
        await Agent("Front", model=model, handoffs=[desk]).run("hello")

        (spec,) = model.calls[0].tools
        assert spec.name == "transfer_to_billing_desk"
        assert "You do bills." in spec.description

    async def test_both_can_be_said(self) -> None:
        desk, _ = billing("hi")
        model = ScriptedModel("no")
        await Agent("Front", model=model, handoffs=[handoff(desk, "escalate", "Payment issues")]).run("hello")

        (spec,) = model.calls[0].tools
        assert (spec.name, spec.description) == ("escalate", "Payment issues")

    def test_two_of_the_same_name_are_a_mistake(self) -> None:
        desk, _ = billing()
        with pytest.raises(DeclarationError, match="'transfer_to_billing_desk' is used twice"):
            Agent("Front", handoffs=[desk, desk])


class TestDelegation:
    async def test_the_target_answers_and_the_run_is_over(self) -> None:
        desk, _ = billing("Your bill is 5.")
        model = ScriptedModel(ToolCall("transfer_to_billing_desk"))

        result = await Agent("Front", model=model, handoffs=[desk]).run("my bill?")

        assert result.output == "Your bill is 5."
        assert result.delegation_path == ("Front", "Billing Desk")
        assert len(model.calls) == 1
        assert result.usage.requests == 2

    async def test_the_path_grows_with_every_handoff(self) -> None:
        last = Agent("C", model=ScriptedModel("done"))
        middle = Agent("B", model=ScriptedModel(ToolCall("transfer_to_c")), handoffs=[last])
        first = Agent("A", model=ScriptedModel(ToolCall("transfer_to_b")), handoffs=[middle])

        assert (await first.run("hi")).delegation_path == ("A", "B", "C")

    async def test_the_target_sees_the_conversation_a_note_and_the_message(self) -> None:
        desk, heard = billing("ok")
        model = ScriptedModel(ToolCall("lookup", n=7), ToolCall("transfer_to_billing_desk", message="It is about 7."))

        await Agent("Front", model=model, tools=[lookup], handoffs=[desk]).run("my bill?")

        messages = heard.calls[0].messages
        assert messages[0] == SystemMessage("You do bills.")
        assert messages[1] == UserMessage("my bill?")
        assert isinstance(messages[3], ToolResult)
        assert messages[3].content == "order 7"
        assert isinstance(messages[-2], SystemMessage)
        assert "handed over to you by Front" in messages[-2].text
        assert messages[-1] == UserMessage("It is about 7.")

    async def test_the_note_can_be_another_or_none(self) -> None:
        desk, heard = billing("ok", "ok")
        silent = Agent(
            "F", model=ScriptedModel(ToolCall("transfer_to_billing_desk")), handoffs=[handoff(desk, awareness=None)]
        )
        telling = Agent(
            "F",
            model=ScriptedModel(ToolCall("transfer_to_billing_desk")),
            handoffs=[handoff(desk, awareness="From {source}.")],
        )

        await silent.run("x")
        await telling.run("x")

        assert [m for m in heard.calls[0].messages if isinstance(m, SystemMessage)] == [SystemMessage("You do bills.")]
        assert SystemMessage("From F.") in heard.calls[1].messages

    async def test_history_filters(self) -> None:
        desk, heard = billing("ok", "ok")
        calls = [ToolCall("lookup", n=7), ToolCall("transfer_to_billing_desk")]
        for history in (without_tools, last_messages(0)):
            agent = Agent(
                "Front",
                model=ScriptedModel(*calls),
                tools=[lookup],
                handoffs=[handoff(desk, history=history, awareness=None)],
            )
            await agent.run("my bill?")

        assert heard.calls[0].messages[1:] == (UserMessage("my bill?"),)
        assert not [m for m in heard.calls[1].messages if isinstance(m, AssistantMessage | ToolResult)]

    async def test_the_other_calls_of_the_turn_are_answered(self) -> None:
        desk, heard = billing("ok")
        other = Agent("Other", model=ScriptedModel())
        calls = [ToolCall("transfer_to_billing_desk"), ToolCall("lookup", n=7), ToolCall("transfer_to_other")]

        await Agent("Front", model=ScriptedModel(calls), tools=[lookup], handoffs=[desk, other]).run("hi")

        answers = [m.content for m in heard.calls[0].messages if isinstance(m, ToolResult)]
        assert answers == [
            "Handed over to Billing Desk.",
            "order 7",
            "Not done: the conversation goes to transfer_to_billing_desk already.",
        ]

    async def test_the_output_guardrails_of_the_one_who_handed_over_are_not_asked(self) -> None:
        def never(text: str) -> guardrails.GuardrailResult:
            return guardrails.failed("never")

        desk, _ = billing("fine")
        model = ScriptedModel(ToolCall("transfer_to_billing_desk"))

        result = await Agent("Front", model=model, handoffs=[desk], output_guardrails=[never]).run("hi")

        assert result.output == "fine"

    async def test_listeners_hear_of_it(self) -> None:
        desk, _ = billing("fine")
        events: list[Event] = []
        model = ScriptedModel(ToolCall("transfer_to_billing_desk", message="please"))

        await Agent("Front", model=model, handoffs=[desk]).run("hi", context=RunContext.over(model, events.append))

        (event,) = [event for event in events if isinstance(event, HandedOff)]
        assert (event.path, event.target, event.message) == (("Front",), "Billing Desk", "please")
        assert ("Front", "Billing Desk") in {event.path for event in events}


class TestTypes:
    async def test_what_the_target_gives_is_kept_when_it_is_of_the_promised_type(self) -> None:
        desk = Agent("Billing", model=ScriptedModel(Bill(amount=5)), output_type=Bill)
        front = Agent(
            "Front",
            model=ScriptedModel(ToolCall("transfer_to_billing")),
            output_type=Reply,
            handoffs=[handoff(desk, propagated_output_type=Bill)],
        )
        result: RunResult[object] = await front.run("hi")

        assert result.output == Bill(amount=5)

    async def test_text_is_read_as_the_promised_type(self) -> None:
        desk = Agent("Billing", model=ScriptedModel('```json\n{"amount": 5}\n```'))
        front = Agent(
            "Front",
            model=ScriptedModel(ToolCall("transfer_to_billing")),
            handoffs=[handoff(desk, propagated_output_type=Bill)],
        )
        result: RunResult[object] = await front.run("hi")

        assert result.output == Bill(amount=5)

    async def test_generic_types_can_be_promised(self) -> None:
        desk = Agent("Billing", model=ScriptedModel('[{"amount": 5}]'))
        front = Agent(
            "Front",
            model=ScriptedModel(ToolCall("transfer_to_billing")),
            handoffs=[handoff(desk, propagated_output_type=list[Bill])],
        )
        result: RunResult[object] = await front.run("hi")

        assert result.output == [Bill(amount=5)]

    async def test_anything_else_is_an_error_that_holds_what_was_done(self) -> None:
        desk = Agent("Billing", model=ScriptedModel("I do not know"))
        front = Agent(
            "Front",
            model=ScriptedModel(ToolCall("transfer_to_billing")),
            handoffs=[handoff(desk, propagated_output_type=Bill)],
        )
        with pytest.raises(HandoffError, match="transfer_to_billing: Billing did not give a Bill") as raised:
            await front.run("hi")
        assert raised.value.result.messages

    async def test_no_model_is_told_of_the_promised_type(self) -> None:
        desk = Agent("Billing", model=ScriptedModel(Bill(amount=5)), output_type=Bill)
        model = ScriptedModel(ToolCall("transfer_to_billing"))
        await Agent("Front", model=model, handoffs=[handoff(desk, propagated_output_type=Bill)]).run("hi")

        assert model.calls[0].output is None


class TestBoundary:
    async def test_an_answer_of_the_type_stays(self) -> None:
        agent = Agent("A", model=ScriptedModel(Bill(amount=5)), output_type=Bill)

        assert (await agent.with_output_type(Bill).run("hi")).output == Bill(amount=5)

    async def test_text_is_read(self) -> None:
        agent = Agent("A", model=ScriptedModel('{"amount": 5}'))
        bound_schema = agent.with_output_type(Bill)

        assert (await bound_schema.run("hi")).output == Bill(amount=5)
        assert (bound_schema.name, bound_schema.description) == (agent.name, agent.description)

    async def test_anything_else_is_an_error(self) -> None:
        agent = Agent("A", model=ScriptedModel("no"))

        with pytest.raises(OutputError, match="A: its answer is not a valid Bill") as raised:
            await agent.with_output_type(Bill).run("hi")
        assert raised.value.last_reply == "no"

    async def test_the_model_is_not_told(self) -> None:
        model = ScriptedModel('{"amount": 5}')
        await Agent("A", model=model).with_output_type(Bill).run("hi")

        assert model.calls[0].output is None


async def test_a_handoff_comes_before_other_tools_that_end_the_run() -> None:
    @tool(ends_turn=True)
    def hang_up() -> str:
        """Hang up."""
        return "hung up"

    desk, _ = billing("Your bill is 5.")
    model = ScriptedModel([ToolCall("hang_up"), ToolCall("transfer_to_billing_desk")])
    result = await Agent("Front", model=model, tools=[hang_up], handoffs=[desk]).run("My bill?")
    assert result.output == "Your bill is 5."
