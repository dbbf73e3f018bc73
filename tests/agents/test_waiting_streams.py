"""The text of a stream whose run waits, or has nothing to say: what was said, and nothing behind it."""

from __future__ import annotations

import pytest

from tactician import Agent, tool
from tactician.testing import ScriptedModel, ToolCall


@tool(needs_approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([["Let me pay.", ToolCall("pay", amount=1)]], "Let me pay."),
        ([ToolCall("pay", amount=1)], ""),
        ([""], ""),
    ],
    ids=["waits with words", "waits", "says nothing"],
)
async def test_no_empty_paragraph_ends_the_text(steps: list[object], said: str) -> None:
    clerk = Agent("Clerk", model=ScriptedModel(*steps), tools=[pay])
    assert "".join([text async for text in clerk.stream_text("Pay")]) == said
