"""The scripted agent of the A2A TCK, made of Tactician's agents: the prefix of a message's id says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tactician import RunContext, achieves_goal, action, ask_human, planned_agent, runnable
from tactician.a2a import A2aMessage
from tactician.a2a.messages import A2aData
from tactician.agents import Agent, PlannedAgent
from tactician.agents.function import FunctionRunnable
from tactician.errors import Rejected
from tactician.llm import Document, Text
from tactician.testing import ScriptedModel

Output = str | Document | A2aMessage | A2aData
_ANSWERS: Mapping[str, Output] = {
    "tck-artifact-text": "Generated text content",
    "tck-artifact-file-url": Document(url="https://example.com/output.txt", media_type="text/plain", name="output.txt"),
    "tck-artifact-file": Document.from_bytes(b"Generated file content", "text/plain", "output.txt"),
    "tck-artifact-data": A2aData({"key": "value", "count": 42}),
    "tck-message-response": A2aMessage(parts=(Text("Direct message response"),), message_id="reply"),
    "tck-stream-001": "Stream hello from TCK",
    "tck-stream-003": "Stream task lifecycle",
    "tck-stream-ordering-001": "Ordered output",
    "tck-stream-artifact-text": "Streamed text content",
    "tck-stream-artifact-file": Document.from_bytes(b"Generated file content", "text/plain", "output.txt"),
}
_LASTING = "TCK history message"


@dataclass
class Talk:
    first: str


@dataclass
class Agreed:
    last: str


@planned_agent(description="asks until it hears something that it need not ask about")
class Asker:
    @achieves_goal("an answer is there")
    @action
    async def ask(self, talk: Talk) -> Agreed:
        answer = await ask_human(str, "Please go on.")
        while answer.startswith(_LASTING):
            answer = await ask_human(str, "Please go on.")
        return Agreed(answer)


def create_scripted_agent(wait: float = 4.0) -> FunctionRunnable[Output]:
    """Return the agent; `wait` is how long its slow answer takes."""
    asker = PlannedAgent(Asker())

    async def scripted(message: A2aMessage, context: RunContext) -> Output:
        """Do what the prefix of the message's id says."""
        prefix = message.message_id
        if prefix.startswith("tck-input-required"):
            await asker.run(Talk(message.text), context=context)
        if prefix.startswith("tck-reject-task"):
            raise Rejected("the task", "rejected")
        if prefix.startswith("test-resubscribe-message-id"):
            await asyncio.sleep(wait)
        return next((answer for known, answer in _ANSWERS.items() if prefix.startswith(known)), "Hello from TCK")

    return runnable(scripted)


def create_talker() -> Agent:
    """Return an agent whose answer comes in pieces."""
    return Agent("Talker", description="Says it in pieces", model=ScriptedModel(*["chunk-1 chunk-2"] * 10))
