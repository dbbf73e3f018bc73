"""Answers of the agent's model to a server that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tactician.agents import Agent
from tactician.llm import LlmOptions
from tactician.mcp.content import read_message
from tactician.runs import RunContext

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams


async def ask_model(params: CreateMessageRequestParams, server: str, context: RunContext) -> tuple[str, str]:
    """Return the answer of the model that surrounds a call of a tool, and the name of the model.

    The answer is a run inside the call: its usage and its limits count there, and a call that is made again after a
    pause gets the same answer.

    Raises:
        RunError: when the model does not answer, or the budget is used up.
    """
    options = LlmOptions(max_tokens=max(1, params.max_tokens), temperature=params.temperature)
    messages = [
        read_message(message.role, cast("list[object]", message.content_as_list)) for message in params.messages
    ]
    agent = Agent(f"{server} sampling", instructions=params.system_prompt or "", model=options)
    result = await agent.run(messages, context=context.as_internal())
    model, _ = context.find_model(options)
    return result.output, model.name
