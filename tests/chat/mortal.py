"""Program with two chatbots, for a test that kills it: `python -m tests.chat.mortal URL LEDGER BOT MESSAGE`.

The ledger has a line for each tool call, and for each call of the model that has begun. With `hang` in the place of a
message, the model never answers after a tool call; with `work`, nothing is said, and runs of the store are continued.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from tactician import Agent, Ai, AssistantMessage, Chatbot, Platform, UserMessage, action, component, tool
from tactician.conversation import Conversation
from tactician.llm import Features, ModelRequest, ModelResponse, Text, ToolCall
from tactician.llm.model import Delta
from tactician.llm.usage import NO_USAGE
from tactician.platform import Worker
from tactician.runs.life.holding import LeaseTime
from tactician.stores import DocumentStore, open_store
from tactician.testing import ScriptedModel

SESSION = "talk"
_LEASE = 2.0


class LookingModel:
    """Model that looks each message up by a tool, and answers with the result and all that the user has said.

    Args:
        ledger: file for a line with each call.
        hangs: true to wait for ever, where it would answer.
    """

    name = "looking"
    features = Features(tools=True)

    def __init__(self, ledger: Path, *, hangs: bool) -> None:
        self._ledger = ledger
        self._hangs = hangs

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return a tool call for a message, and the answer for a result."""
        last = request.messages[-1]
        if isinstance(last, UserMessage):
            call = ToolCall(f"call {len(request.messages)}", "look_up", f'{{"word": "{last.text}"}}')
            return ModelResponse(AssistantMessage((call,)), NO_USAGE, "tool_calls", self.name)
        write(self._ledger, "answering")
        if self._hangs:
            await asyncio.Event().wait()
        said = [message.text for message in request.messages if isinstance(message, UserMessage)]
        return ModelResponse(AssistantMessage((Text(f"{last.text} of {said}"),)), NO_USAGE, "stop", self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer as a whole."""
        yield await self.generate(request)


def write(ledger: Path, line: str) -> None:
    """Append a line at once."""
    with ledger.open("a") as file:
        file.write(f"{line}\n")


def create_platform(store: DocumentStore, ledger: Path, *, hangs: bool) -> Platform:
    """Return a platform with a chatbot for each kind of agent."""
    model = LookingModel(ledger, hangs=hangs)

    @tool
    def look_up(word: str) -> str:
        """Look a word up."""
        write(ledger, f"look up {word}")
        return f"{word}!"

    @component
    class Talk:
        @action(trigger=UserMessage, can_rerun=True)
        async def reply(self, conversation: Conversation, ai: Ai) -> AssistantMessage:
            return await ai.with_llm(model).with_tools(look_up).respond(conversation)

    platform = Platform(ScriptedModel(), store=store).register(Talk())
    talker = Agent("Talker", model=model, tools=[look_up])
    return platform.register(
        Chatbot(platform, name="planned", patience=0.0), talker, Chatbot(platform, talker, name="plain")
    )


async def work(url: str, ledger: Path, bot_name: str, message: str) -> None:
    """Say something in the session, or continue the runs of the store for ever."""
    async with open_store(url) as store, create_platform(store, ledger, hangs=message == "hang") as platform:
        platform.services.find(LeaseTime).seconds = _LEASE  # no test waits for half a minute
        if message == "work":
            await Worker(platform, lease=_LEASE, poll=0.05).run()
        bot = platform.agents[bot_name]
        assert isinstance(bot, Chatbot)
        session = await bot.session("alice", id=SESSION)
        print((await session.send(message)).text, flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(work(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
