"""Chatbots: sessions of users with planned agents, components of a platform, and plain agents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Ai,
    AssistantMessage,
    Chatbot,
    OperationContext,
    Planner,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserMessage,
    achieves_goal,
    action,
    ask_human,
    component,
    cost,
    planned_agent,
    state,
)
from tactician.chat import ChatProgress, ChatUser, QueueChannel
from tactician.conversation import Conversation
from tactician.errors import ConversationNotFoundError, PermanentError, RunConflictError
from tactician.llm import Text
from tactician.platform import Worker
from tactician.process import AgentProcess, ProcessFailedError
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]


@component
class Chat:
    """Answers with all that was said."""

    @action(trigger=UserMessage, can_rerun=True, cost=0.5)
    def reply(self, conversation: Conversation, context: OperationContext) -> None:
        context.send(" ".join(message.text for message in conversation.messages if isinstance(message, UserMessage)))


@dataclass(frozen=True)
class Order:
    number: str


@component
class Orders:
    @cost
    def estimate(self, message: UserMessage | None) -> float:
        return 0.1 if message is not None and message.text.startswith("order") else 1.0

    @action(trigger=UserMessage, can_rerun=True, cost_method="estimate")
    def find_order(self, message: UserMessage, context: OperationContext) -> Order:
        context.report_progress("looking")
        context.send("found it")
        return Order(message.text.removeprefix("order "))

    @action(trigger=Order, can_rerun=True)
    def thank(self, order: Order) -> AssistantMessage:
        return AssistantMessage((Text(f"thank you for {order.number}"),))


def start_platform(*agents: object, store: MemoryStore | None = None, model: ScriptedModel | None = None) -> Platform:
    return Platform(model or ScriptedModel(), store=store).register(*agents)


@pytest.fixture(params=["memory", "json"])
def store(request: pytest.FixtureRequest) -> MemoryStore | None:
    return JsonStore() if request.param == "json" else None


class TestSessions:
    async def test_actions_of_all_components_react_and_the_process_rests(self, store: MemoryStore | None) -> None:
        bot = Chatbot(start_platform(Chat(), Orders(), store=store))
        session = await bot.session("alice")
        assert (await session.send("hello")).text == "hello"
        reply = await session.send("order 17")
        assert [message.text for message in reply.messages] == ["found it", "thank you for 17"]
        assert reply.status is session.status is ProcessStatus.RESTING
        assert reply.failure is None
        assert session.assets == (Order("17"),)
        assert texts(session.conversation) == ["hello", "hello", "order 17", "found it", "thank you for 17"]
        assert not session.is_finished

    async def test_sessions_are_apart(self, store: MemoryStore | None) -> None:
        bot = Chatbot(start_platform(Chat(), store=store))
        sessions = [await bot.session(f"user {number}") for number in range(20)]
        for text in ("a", "b"):
            await asyncio.gather(*(session.send(f"{text}{session.id}") for session in sessions))
        for session in sessions:
            expected = f"a{session.id} b{session.id}"
            assert texts(session.conversation)[-1] == expected

    async def test_several_bots_have_sessions_of_their_own(self) -> None:
        platform = start_platform(Chat(), Agent("Helper"), model=ScriptedModel("from the model"))
        bots = Chatbot(platform, "Helper"), Chatbot(platform, name="other")
        first, second = [await bot.session("alice") for bot in bots]
        assert (await first.send("hi")).text == "from the model"
        assert (await second.send("ho")).text == "ho"
        assert [session.id for session in await bots[0].list_sessions("alice")] == [first.id]
        assert await bots[1].find(first.id) is None

    async def test_messages_of_one_session_come_one_after_another(self, store: MemoryStore | None) -> None:
        bot = Chatbot(start_platform(Chat(), store=store))
        session = await bot.session()
        await asyncio.gather(*(session.send(str(number)) for number in range(5)))
        assert texts(session.conversation)[-1] == "0 1 2 3 4"

    async def test_a_session_of_another_user_is_not_found(self) -> None:
        bot = Chatbot(start_platform(Chat()))
        session = await bot.session("alice")
        with pytest.raises(ConversationNotFoundError):
            await bot.session("bob", id=session.id)
        assert (await bot.session("alice", id=session.id)).id == session.id

    @pytest.mark.parametrize("kind", [MemoryStore, JsonStore])
    async def test_a_session_of_nobody_belongs_to_the_first_user(self, kind: type[MemoryStore]) -> None:
        bot = Chatbot(start_platform(Chat(), store=kind()))
        await (await bot.session(id="s")).send("hello")
        session = await bot.session("alice", id="s")
        assert (await session.send("again")).text == "hello again"
        with pytest.raises(ConversationNotFoundError):
            await bot.session("bob", id="s")
        assert [found.id for found in await bot.list_sessions("alice")] == ["s"]
        assert session.conversation.user == "alice"

    async def test_a_message_to_which_nothing_reacts_says_why(self) -> None:
        @component
        class Deaf:
            @action(trigger=Order)
            def thank(self, order: Order) -> None: ...

        session = await Chatbot(start_platform(Deaf())).session()
        reply = await session.send("hello")
        assert (reply.messages, reply.status) == ((), ProcessStatus.RESTING)
        assert "thank" in str(reply.failure)

    async def test_a_system_message_comes_first(self) -> None:
        bot = Chatbot(start_platform(Chat()))
        session = await bot.session(system_message="Be brief.")
        await session.send("hi")
        assert texts(session.conversation) == ["Be brief.", "hi", "hi"]

    async def test_what_is_forgotten_is_gone(self, store: MemoryStore | None) -> None:
        platform = start_platform(Chat(), store=store)
        bot = Chatbot(platform)
        session = await bot.session(id="x")
        await session.send("hi")
        assert await bot.forget("x")
        assert await bot.find("x") is None
        assert await platform.runs() == []
        again = await bot.session(id="x")
        assert (await again.send("ho")).text == "ho"

    async def test_an_action_gets_the_user(self, store: MemoryStore | None) -> None:
        @component
        class Greeter:
            @action(trigger=UserMessage, can_rerun=True)
            def greet(self, user: ChatUser, context: OperationContext) -> None:
                context.send(f"hello {user.name}")

        session = await Chatbot(start_platform(Greeter(), store=store)).session(ChatUser("a", "Ada"))
        assert (await session.send("hi")).text == "hello Ada"
        assert (await session.send("hi")).text == "hello Ada"


class TestGoals:
    async def test_a_goal_ends_the_session(self, store: MemoryStore | None) -> None:
        @planned_agent(description="books a table")
        class Booking:
            @action(trigger=UserMessage, can_rerun=True)
            def listen(self, message: UserMessage, context: OperationContext) -> Order | None:
                if message.text.isdigit():
                    return Order(message.text)
                context.send("which number?")
                return None

            @achieves_goal("booked")
            @action
            def book(self, order: Order) -> str:
                return f"booked {order.number}"

        session = await Chatbot(start_platform(Booking(), store=store), "Booking").session()
        assert (await session.send("a table")).text == "which number?"
        assert (await session.send("17")).text == "booked 17"
        assert session.is_finished
        with pytest.raises(RunConflictError, match="has completed"):
            await session.send("more")

    async def test_text_answers_a_question(self, store: MemoryStore | None) -> None:
        @component
        class Asker:
            @action(trigger=UserMessage, can_rerun=True)
            async def ask(self, message: UserMessage, context: OperationContext) -> None:
                name = await ask_human(str, "What is your name?")
                context.send(f"{message.text}, {name}")

        session = await Chatbot(start_platform(Asker(), store=store)).session()
        reply = await session.send("hello")
        assert (reply.text, reply.status) == ("What is your name?", ProcessStatus.WAITING)
        assert (await session.send("Ada")).text == "hello, Ada"
        assert texts(session.conversation) == ["hello", "What is your name?", "Ada", "hello, Ada"]

    async def test_the_conversation_stays_when_a_state_is_entered(self, store: MemoryStore | None) -> None:
        @state
        @dataclass
        class Angry:
            reason: str

            @action(trigger=UserMessage, can_rerun=True)
            def calm(self, conversation: Conversation, context: OperationContext) -> None:
                context.send(f"calm after {len(conversation)}")

        @planned_agent(description="talks", planner=Planner.UTILITY)
        class Mood:
            @action(trigger=UserMessage)
            def notice(self, message: UserMessage) -> Angry:
                return Angry(message.text)

        session = await Chatbot(start_platform(Mood(), store=store), "Mood").session()
        await session.send("grr")
        assert (await session.send("still")).text == "calm after 2"


class TestFailures:
    async def test_an_action_that_fails_leaves_the_session_as_it_is(self, store: MemoryStore | None) -> None:
        @component
        class Fragile:
            @action(trigger=UserMessage, can_rerun=True)
            def reply(self, message: UserMessage, context: OperationContext) -> None:
                if message.text == "break":
                    raise PermanentError("broken")
                context.send("fine")

        session = await Chatbot(start_platform(Fragile(), store=store)).session()
        with pytest.raises(ProcessFailedError, match="broken"):
            await session.send("break")
        assert session.status is ProcessStatus.RESTING
        assert (await session.send("again")).text == "fine"

    async def test_actions_that_never_rest_are_stopped(self) -> None:
        @component
        class Restless:
            @action(can_rerun=True, trigger=UserMessage)
            def begin(self, message: UserMessage) -> Order:
                return Order("0")

            @action(can_rerun=True)
            def go_on(self, order: Order) -> Order:
                return Order(f"{int(order.number) + 1}")

        session = await Chatbot(start_platform(Restless())).session()
        reply = await session.send("go")
        assert (reply.status, reply.failure) == (
            ProcessStatus.RESTING, "a message may cause 25 actions, and more would have run",
        )  # fmt: skip
        assert (await session.send("go")).status is ProcessStatus.RESTING

    async def test_a_worker_that_dies_says_nothing_twice(self) -> None:
        @component
        class Mortal:
            dies = True

            @action(trigger=UserMessage, can_rerun=True)
            async def reply(self, conversation: Conversation, context: OperationContext) -> None:
                context.send(f"answer to {conversation.messages[0].text}")
                if Mortal.dies:
                    assert isinstance(context.process, AgentProcess)
                    assert context.process.conversation is not None
                    await context.process.conversation.flush()
                    Mortal.dies = False
                    raise asyncio.CancelledError

        store = JsonStore()
        session = await Chatbot(start_platform(Mortal(), store=store)).session(id="s")
        with pytest.raises(asyncio.CancelledError):
            await session.send("hello")
        elsewhere = start_platform(Mortal(), store=store)
        assert await Worker(elsewhere).run_once()
        found = await Chatbot(elsewhere).find("s")
        assert found is not None
        assert texts(found.conversation) == ["hello", "answer to hello"]
        assert found.status is ProcessStatus.RESTING


class TestChannels:
    async def test_a_channel_gets_messages_and_progress(self) -> None:
        channel = QueueChannel()
        session = await Chatbot(start_platform(Orders())).session("alice", channel)
        await session.send("order 5")
        channel.close()
        shown = [entry.text if isinstance(entry, ChatProgress) else f"says {entry.text}" async for entry in channel]
        assert shown == ["looking", "says found it", "says thank you for 5"]

    async def test_a_closed_session_shows_nothing(self) -> None:
        channel = QueueChannel()
        session = await Chatbot(start_platform(Chat())).session("alice", channel)
        session.close()
        await session.send("hi")
        channel.close()
        assert [entry async for entry in channel] == []

    async def test_a_full_channel_drops_the_oldest(self) -> None:
        channel = QueueChannel(limit=2)
        for text in ("a", "b", "c"):
            channel.show_progress(text)
        iterator = aiter(channel)
        assert [await anext(iterator) for _ in range(2)] == [ChatProgress("b"), ChatProgress("c")]

    async def test_messages_reach_it_when_others_continue_the_process(self) -> None:
        channel, platform = QueueChannel(), start_platform(Orders())
        session = await Chatbot(platform).session("alice", channel)
        await session.send("order 5")
        assert session.run_id is not None
        await platform.resume(session.run_id, Order("6"))
        channel.close()
        assert [entry.text async for entry in channel][-1] == "thank you for 6"
        await session.refresh()
        assert texts(session.conversation)[-1] == "thank you for 6"


class TestMemories:
    async def test_sessions_of_a_user_share_a_memory(self, store: MemoryStore | None) -> None:
        @component
        class Desk:
            @action(trigger=UserMessage, can_rerun=True)
            def reply(self, order: Order | None, context: OperationContext) -> None:
                context.send("nothing yet" if order is None else f"about {order.number}?")

        platform = start_platform(Orders(), store=store)
        first = await Chatbot(platform).session("alice", memory_id="alice")
        await first.send("order 3")
        platform.unregister("Orders")
        platform.register(Desk())
        bot = Chatbot(platform)
        assert (await (await bot.session("alice", memory_id="alice")).send("hi")).text == "about 3?"
        assert (await (await bot.session("bob", memory_id="bob")).send("hi")).text == "nothing yet"


class TestAgents:
    async def test_an_agent_answers_in_the_conversation(self, store: MemoryStore | None) -> None:
        model = ScriptedModel("one", "two")
        bot = Chatbot(start_platform(Agent("Helper"), store=store, model=model), "Helper")
        session = await bot.session("alice")
        assert (await session.send("a")).text == "one"
        assert (await session.send("b")).text == "two"
        assert texts(session.conversation) == ["a", "one", "b", "two"]
        assert [message.text for message in model.calls[1].messages] == ["a", "one", "b"]

    async def test_a_bot_is_a_runnable(self) -> None:
        bot = Chatbot(start_platform(Chat()), name="echo", description="repeats")
        assert (await bot.run("hello")).output == "hello"

    async def test_an_action_answers_with_a_model_and_the_conversation(self) -> None:
        @component
        class Talk:
            @action(trigger=UserMessage, can_rerun=True)
            async def reply(self, conversation: Conversation, ai: Ai) -> AssistantMessage:
                return await ai.respond(conversation)

        model = ScriptedModel("first", "second")
        session = await Chatbot(start_platform(Talk(), model=model)).session()
        await session.send("a")
        assert (await session.send("b")).text == "second"
        assert [message.text for message in model.calls[1].messages] == ["a", "first", "b"]


async def test_a_process_rests_in_a_conversation_without_a_bot() -> None:
    platform = start_platform(Chat())
    options = ProcessOptions(conversation_id="talk")
    process = await platform.start(platform.as_agent(), "hello", options=options)
    assert (process.status, process.failure) == (ProcessStatus.RESTING, None)
    assert isinstance(await platform.resume(process.id, "you"), AgentProcess)
    async with platform.conversations.look("talk") as conversation:
        assert texts(conversation) == ["hello", "hello", "you", "hello you"]


@state
class Asking:
    @action(trigger=UserMessage)
    def hear(self, message: UserMessage, context: OperationContext) -> Told:
        context.send(f"you said {message.text}")
        return Told()


@state
class Told:
    @achieves_goal("everything is said")
    @action
    def end(self) -> Order:
        return Order("x")


class Steps:
    @action(trigger=UserMessage)
    def begin(self, message: UserMessage, context: OperationContext) -> Asking:
        context.send("hello")
        return Asking()


@pytest.mark.parametrize("planner", [Planner.GOAP, Planner.UTILITY, Planner.HYBRID])
async def test_an_agent_that_will_answer_nothing_is_told_at_once(
    planner: Planner, caplog: pytest.LogCaptureFixture
) -> None:
    agent = planned_agent(description="asks step by step", planner=planner)(Steps)()
    bot = Chatbot(Platform(ScriptedModel()), agent)
    warned = [record.getMessage() for record in caplog.records]
    session = await bot.session()
    assert bool((await session.send("a")).text) is not bool(warned)
    assert [text.partition(":")[0] for text in warned] == ["The chatbot Steps will answer nothing"] * len(warned)
    assert bool(warned) is (planner is Planner.GOAP)
