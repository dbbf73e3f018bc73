"""What the tests give to guardrails."""

from __future__ import annotations

from tactician import RunContext, UserMessage
from tactician.events.bus import EventListener
from tactician.guardrails.guardrail import CheckedInput, CheckedOutput, CheckedToolOutput
from tactician.llm import AssistantMessage, Text, ToolCall
from tactician.testing import ScriptedModel


def context(sink: EventListener | None = None) -> RunContext:
    return RunContext.over(ScriptedModel(), sink).child("Support")


def said(text: str) -> CheckedInput:
    """A user said something, after a conversation of one question and one answer."""
    new = UserMessage(text)
    return CheckedInput([new], [UserMessage("first"), AssistantMessage((Text("second"),)), new])


def answered(text: str, output: object = None) -> CheckedOutput:
    return CheckedOutput(text, text if output is None else output)


def called(name: str = "refund", arguments: str = '{"amount": 5}') -> ToolCall:
    return ToolCall("1", name, arguments)


def returned(content: str, name: str = "refund") -> CheckedToolOutput:
    return CheckedToolOutput(called(name), content)
