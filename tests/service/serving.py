"""Service in a process of its own: answers requests that come as lines of JSON, many at once."""

from __future__ import annotations

import asyncio
import json
import sys

from tactician import Agent, AgentService, Ai, Chatbot, Platform, action, component
from tactician.conversation import Conversation
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


@component
class Repeating:
    """Actions of the chatbot."""

    @action(trigger=UserMessage, can_rerun=True)
    async def repeat(self, conversation: Conversation, ai: Ai) -> AssistantMessage:
        """Let the model answer."""
        return await ai.respond(conversation)


def create_service(store: DocumentStore) -> AgentService:
    """A service with an agent and a chatbot, over a store. Both repeat all that a user has said so far."""
    platform = Platform(Echo(), store=store)
    return AgentService(platform.register(Agent("Host"), Repeating(), Chatbot(platform, name="Chat")))


async def answer(service: AgentService, agent: str, line: bytes) -> None:
    """Answer one request: a message to a conversation, or, without one, all that was said in it."""
    number, talk_id, text = json.loads(line)
    try:
        if text is None:
            answered: object = said(await service.conversation(talk_id))
        else:
            answered = (await service.request_agent(agent, text, conversation_id=talk_id)).output
    except TacticianError as error:
        answered = f"{type(error).__name__}: {error}"
    sys.stdout.write(f"{json.dumps([number, answered])}\n")
    sys.stdout.flush()


async def serve(address: str, agent: str) -> None:
    """Answer requests until there are no more."""
    service, loop = create_service(open_store(address)), asyncio.get_running_loop()
    async with service.platform, asyncio.TaskGroup() as group:
        while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
            group.create_task(answer(service, agent, line))


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
