"""A chat with a help desk: several components react to messages, and the cheapest of those that fit answers.

Run it with `python -m examples.help_desk`, or give the file a name of a user: `python -m examples.help_desk alice`.
The chats are kept in `help_desk.db`, so that it continues where it was when it is started again.
"""

import asyncio
import re
import sys
from dataclasses import dataclass

from tactician import Ai, AssistantMessage, Chatbot, OperationContext, Platform, UserMessage, action, component, cost
from tactician.chat import ChatProgress, ChatUser, QueueChannel
from tactician.conversation import Conversation
from tactician.llm import Text
from tactician.stores import SqliteStore

ORDERS = {"17": "on its way", "18": "waiting for its payment"}
_NUMBER = re.compile(r"order\D*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Order:
    """An order that the user has asked about."""

    number: str
    state: str


@component
class Orders:
    """Looks up orders."""

    @cost
    def estimate(self, message: UserMessage | None) -> float:
        """Return a low cost for messages with the number of an order."""
        return 0.1 if message is not None and _NUMBER.search(message.text) else 1.0

    @action(trigger=UserMessage, can_rerun=True, cost_method="estimate")
    def find_order(self, message: UserMessage, context: OperationContext) -> Order | None:
        """Find the order that a message names."""
        context.report_progress("looking up the order")
        match = _NUMBER.search(message.text)
        number = "" if match is None else match[1]
        if number not in ORDERS:
            context.send("There is no such order. Which number is on your receipt?")
            return None
        return Order(number, ORDERS[number])

    @action(trigger=Order, can_rerun=True)
    def report(self, order: Order) -> AssistantMessage:
        """Say how an order stands."""
        return AssistantMessage((Text(f"Order {order.number} is {order.state}."),))


@component
class SmallTalk:
    """Answers everything else, with what is known by now."""

    @action(trigger=UserMessage, can_rerun=True, cost=0.5)
    async def reply(
        self, conversation: Conversation, order: Order | None, user: ChatUser | None, ai: Ai
    ) -> AssistantMessage:
        """Let a model answer."""
        known = "" if order is None else f" You talk about order {order.number}, which is {order.state}."
        name = "a customer" if user is None else user.id
        return await ai.with_system_prompt(f"You help {name} of a shop, in a sentence.{known}").respond(conversation)


def create_bot(platform: Platform) -> Chatbot:
    """Return the chatbot of a platform."""
    return Chatbot(platform.register(Orders(), SmallTalk()), name="help desk")


async def show(channel: QueueChannel) -> None:
    """Print what the help desk says and does."""
    async for shown in channel:
        print(f"... {shown.text}" if isinstance(shown, ChatProgress) else f"Desk: {shown.text}")


async def main(user: str) -> None:
    """Talk with a user until the input ends."""
    channel = QueueChannel()
    async with Platform(store=SqliteStore("help_desk.db")) as platform, asyncio.TaskGroup() as group:
        group.create_task(show(channel))
        session = await create_bot(platform).session(user, channel, id=f"desk-{user}", memory_id=user)
        while text := (await asyncio.to_thread(sys.stdin.readline)).strip():
            await session.send(text)
        channel.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "guest"))
