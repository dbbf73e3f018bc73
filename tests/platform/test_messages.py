"""Messages that are put into a process: an agent that takes messages gets them, and reacts to the newest."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    AssistantMessage,
    Autonomy,
    ParallelAgents,
    PlannedAgent,
    Planner,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RouterAgent,
    UserInput,
    UserMessage,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.llm import Image, Text, ToolResult
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, respond


@dataclass(frozen=True)
class Customer:
    name: str


@dataclass(frozen=True)
class Reply:
    text: str


@planned_agent(description="answers messages")
class Clerk:
    @achieves_goal("answered")
    @action(trigger=UserMessage)
    def answer(self, message: UserMessage, customer: Customer | None) -> Reply:
        return Reply(f"{'you' if customer is None else customer.name} said {message.text}")


@planned_agent(description="answers letters, and messages in another way")
class Both:
    @achieves_goal("answered")
    @action(trigger=UserMessage)
    def answer(self, message: UserMessage) -> Reply:
        return Reply(f"message: {message.text}")

    @achieves_goal("read")
    @action
    def read(self, letter: UserInput) -> Reply:
        return Reply(f"letter: {letter.content}")


@planned_agent(description="talks as long as somebody talks to it", planner=Planner.UTILITY)
class Talker:
    def __init__(self) -> None:
        self.heard: list[str] = []

    @action(trigger=UserMessage, can_rerun=True)
    def hear(self, message: UserMessage) -> None:
        self.heard.append(message.text)


def platform_of(*agents: object, model: ScriptedModel | None = None, store: MemoryStore | None = None) -> Platform:
    return Platform(models=model or ScriptedModel(), store=store).register(*agents)


async def test_a_message_fires_the_action_that_waits_for_one() -> None:
    process = await platform_of(Clerk()).start("Clerk", Customer("Ada"), UserMessage("hello"))
    assert process.result == Reply("Ada said hello")


async def test_it_does_not_when_something_has_come_after_it() -> None:
    process = await platform_of(Clerk()).start("Clerk", UserMessage("hello"), Customer("Ada"))
    assert process.status is ProcessStatus.STUCK


async def test_what_a_context_knows_does_not_come_after_it() -> None:
    @planned_agent(description="gets to know people")
    class Desk:
        @action
        def meet(self, letter: UserInput) -> Customer:
            return Customer(letter.content)

        @achieves_goal("welcomed")
        @action
        def welcome(self, customer: Customer) -> str:
            return "welcome"

    platform, options = platform_of(Clerk(), Desk()), ProcessOptions(memory_id="Ada")
    await platform.start("Desk", "Ada", options=options)
    process = await platform.start("Clerk", UserMessage("hello"), options=options)
    assert process.result == Reply("Ada said hello")


async def test_text_is_a_message_to_an_agent_that_takes_nothing_else() -> None:
    process = await platform_of(Clerk()).start("Clerk", "hello")
    assert process.result == Reply("you said hello")
    assert process.last(UserInput) is None


async def test_text_reaches_it_on_every_way() -> None:
    ranking = {"value": [{"name": "Clerk", "confidence": 0.9, "reason": "yes"}]}
    platform = platform_of(Clerk(), model=ScriptedModel(ranking, ToolCall("clerk", request="hello"), "done"))
    assert await platform.invoke(Reply, "hello") == Reply("you said hello")
    assert (await Autonomy(platform).run("hello")).output == Reply("you said hello")
    context, clerk = platform.context(), PlannedAgent(Clerk())
    assert (await clerk.run("hello")).output == Reply("you said hello")
    boss = await Agent("Boss", tools=[clerk.as_tool()]).run("greet", context=context)
    results = [message.content for message in boss.messages if isinstance(message, ToolResult)]
    assert "you said hello" in str(results)
    members = await ParallelAgents("All", [clerk]).run("hello", context=context)
    assert "you said hello" in str(members.output)


async def test_text_is_a_message_where_one_only_triggers() -> None:
    @planned_agent(description="wakes up")
    class Sleeper:
        @achieves_goal("awake")
        @action(trigger=UserMessage)
        def wake(self) -> Reply:
            return Reply("awake")

    assert (await platform_of(Sleeper()).start("Sleeper", "hello")).result == Reply("awake")


async def test_text_that_comes_later_is_a_message_too() -> None:
    talker = Talker()
    platform = platform_of(talker)
    process = await platform.start("Talker", "one")
    await platform.resume(process.id, "two")
    assert talker.heard == ["one", "two"]


@pytest.mark.parametrize(
    ("given", "text"), [(UserMessage("hello"), "message: hello"), ("hello", "letter: hello")], ids=["message", "text"]
)
async def test_an_agent_that_takes_both_can_tell_them_apart(given: object, text: str) -> None:
    assert (await platform_of(Both()).start("Both", given)).result == Reply(text)


async def test_of_a_conversation_it_gets_the_messages_that_it_takes() -> None:
    talk = [UserMessage("hello"), AssistantMessage((Text("yes?"),)), UserMessage("nothing")]
    process = await platform_of(Clerk()).start("Clerk", talk)
    assert process.result == Reply("you said nothing")
    assert process.blackboard.all(UserMessage) == [talk[0], talk[2]]
    assert process.last(AssistantMessage) is None


async def test_a_conversation_that_does_not_end_with_such_a_message_is_text() -> None:
    talk = [UserMessage("hello"), AssistantMessage((Text("yes?"),))]
    process = await platform_of(Both()).start("Both", talk)
    assert process.result == Reply("letter: hello\nyes?")


async def test_the_pictures_of_a_message_are_there() -> None:
    @planned_agent(description="counts pictures")
    class Counter:
        @achieves_goal("counted")
        @action(trigger=UserMessage)
        def count(self, message: UserMessage) -> int:
            return sum(isinstance(part, Image) for part in message.parts)

    picture = Image(url="https://example.org/a.png")
    process = await platform_of(Counter()).start("Counter", UserMessage((Text("this"), picture, picture)))
    assert process.result == 2


async def test_each_further_message_fires_it_again() -> None:
    talker = Talker()
    process = await platform_of(talker).start("Talker", UserMessage("one"))
    assert process.status is ProcessStatus.STUCK

    process.blackboard.add(UserMessage("two"))
    await process.run()

    assert talker.heard == ["one", "two"]


async def test_it_is_chosen_by_what_it_yields_and_by_what_a_model_says() -> None:
    ranking = {"value": [{"name": "Clerk", "confidence": 0.9, "reason": "yes"}]}
    platform = platform_of(Clerk(), model=ScriptedModel(ranking))
    assert await platform.invoke(Reply, UserMessage("hello")) == Reply("you said hello")
    assert (await Autonomy(platform).run(UserMessage("hello"))).output == Reply("you said hello")


async def test_a_router_sends_it_messages() -> None:
    router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"Everything": PlannedAgent(Clerk())})
    result = await router.run([UserMessage("hi"), AssistantMessage((Text("hi"),)), UserMessage("hello")])
    assert result.output == Reply("you said hello")


async def test_a_message_goes_through_a_store() -> None:
    @planned_agent(description="asks somebody")
    class Asker:
        @achieves_goal("answered")
        @action(trigger=UserMessage)
        async def answer(self, message: UserMessage) -> Reply:
            return Reply(f"{message.text}: {await ask_human(str, message.text)}")

    store, picture = JsonStore(), Image(url="https://example.org/a.png")
    message = UserMessage((Text("what is this?"), picture))
    process = await platform_of(Asker(), store=store).start("Asker", message)
    other = platform_of(Asker(), store=store)
    done = await respond(other, process, "a frog")
    assert done.result == Reply("what is this?: a frog")
    assert done.last(UserMessage) == message
