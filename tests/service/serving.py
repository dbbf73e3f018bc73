"""Service in a process of its own: answers requests that come as lines of JSON, many at once."""

from __future__ import annotations

import asyncio
import json
import sys

from tactician import Agent, AgentService, Platform
from tactician.errors import TacticianError
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text, UserMessage
from tactician.stores import DocumentStore, open_store
from tactician.testing import ScriptedModel
from tests.service.test_conversations import said


class Echo(ScriptedModel):
    """A model that repeats all that a user has said so far."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        texts = [message.content for message in request.messages if isinstance(message, UserMessage)]
        return ModelResponse(AssistantMessage((Text(" ".join(map(str, texts))),)))


def create_service(store: DocumentStore) -> AgentService:
    """A service with one agent, over a store."""
    return AgentService(Platform(Echo(), store=store)).register(Agent("Host"))


async def answer(service: AgentService, line: bytes) -> None:
    """Answer one request: a message to a conversation, or, without one, all that was said in it."""
    number, talk_id, text = json.loads(line)
    try:
        if text is None:
            answered: object = said(await service.conversation(talk_id))
        else:
            answered = (await service.request_agent("host", text, conversation_id=talk_id)).output
    except TacticianError as error:
        answered = f"{type(error).__name__}: {error}"
    sys.stdout.write(f"{json.dumps([number, answered])}\n")
    sys.stdout.flush()


async def serve(address: str) -> None:
    """Answer requests until there are no more."""
    service, loop = create_service(open_store(address)), asyncio.get_running_loop()
    async with service.platform, asyncio.TaskGroup() as group:
        while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
            group.create_task(answer(service, line))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
