"""Conversations by id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tactician import (
    Agent,
    AgentService,
    AssistantMessage,
    Autonomous,
    Platform,
    RouterAgent,
    UserMessage,
    guardrails,
    handoff,
    runnable,
    tool,
)
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConversationConflictError, ConversationNotFoundError, ModelServerError
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.llm import Deployment, ModelRequest, ModelResponse, ModelRouter, Text, ToolResult
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore, SqliteStore
from tactician.stores.document import Body, StoredDocument, StoredStep
from tactician.testing import ScriptedModel, ToolCall


def said(conversation: Conversation) -> list[str]:
    return [one.content if isinstance(one, ToolResult) else one.text for one in conversation.messages]


async def test_an_agent_remembers_what_was_said_in_a_conversation() -> None:
    model = ScriptedModel("Hello Alice.", "Your name is Alice.")
    service = AgentService(model).register(Agent("My Assistant", id="assistant", model="gpt-5.4"))
    conversation_id = service.create_conversation()
    await service.request_agent("assistant", "My name is Alice.", conversation_id=conversation_id)
    result = await service.request_agent("assistant", "What is my name?", conversation_id=conversation_id)
    assert result.output == "Your name is Alice."
    assert model.calls[1].prompt == "My name is Alice.\nHello Alice.\nWhat is my name?"
    assert len((await service.conversation(conversation_id)).messages) == 4


def test_a_conversation_can_be_gone_on_with_without_an_event_loop() -> None:
    model = ScriptedModel("one", "two")
    service = AgentService(model).register(Agent("a"))
    conversation_id = service.create_conversation()
    service.request_agent_sync("a", "1", conversation_id=conversation_id)
    service.request_agent_sync("a", "2", conversation_id=conversation_id)
    assert model.calls[1].prompt == "1\none\n2"


async def test_two_processes_cannot_change_the_same_conversation_unnoticed() -> None:
    store, model = MemoryStore(), Slow("one")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
    await model.asked.wait()
    elsewhere = ConversationStore(store)
    with pytest.raises(ConversationConflictError):
        await elsewhere.create(conversation_id)
    same = await elsewhere.load(conversation_id)
    assert same is not None
    same.insert(UserMessage("from elsewhere"))
    await elsewhere.save(same)
    model.may_answer.set()
    with pytest.raises(ConversationConflictError):
        await asking
    assert said(await service.conversation(conversation_id)) == ["from elsewhere"]


async def test_requests_are_kept_in_a_store_with_all_that_was_said() -> None:
    store, model = MemoryStore(), ScriptedModel("Hello.")
    service = AgentService(Platform(model, store=store)).register(Agent("a"))
    result = await service.request_agent("a", "Hi")
    tree = await Platform(model, store=store).tree(result.run_id)
    assert (tree.run.kind, tree.run.status, tree.run.output) == ("request", "completed", "Hello.")
    assert (tree.run.usage, tree.run.cost) == (result.usage, result.cost)
    assert tree.run.usage.total_tokens > 0
    assert tree.run.messages == result.messages
    assert said(Conversation(tree.run.messages)) == ["Hi", "Hello."]


async def test_without_a_store_nothing_is_left_of_a_request() -> None:
    service = AgentService(ScriptedModel("Hello.", ModelServerError("down"))).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.request_agent("a", "Hi", conversation_id=conversation_id)
    with pytest.raises(ModelServerError):
        await service.request_agent("a", "Hi")
    assert await RunStore(service.platform.store).find() == []


async def test_several_agents_and_models_can_speak_in_one_conversation() -> None:
    async def shout(text: object) -> str:
        return "HEY"

    model = ScriptedModel("one", "1", "three", "four")
    service = AgentService(model).register(Agent("a"), RouterAgent("r", routes={"all": Agent("b")}), runnable(shout))
    conversation_id = service.create_conversation()
    await service.request_agent("a", "1", conversation_id=conversation_id)
    await service.request_agent("shout", "2", conversation_id=conversation_id)
    await service.request_agent("r", "3", conversation_id=conversation_id)
    await service.request_model("scripted", "4", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == ["1", "one", "2", "HEY", "3", "three", "4", "four"]
    assert model.calls[2].prompt == "1\none\n2\nHEY\n3"


@pytest.mark.parametrize("use", ["conversation", "remove", "truncate"])
async def test_an_unknown_conversation_is_an_error(use: str) -> None:
    service = AgentService(ScriptedModel()).register(Agent("a"))
    uses: dict[str, Callable[[], Awaitable[object]]] = {
        "conversation": lambda: service.conversation("gone"),
        "remove": lambda: service.remove_message("gone", "m0"),
        "truncate": lambda: service.truncate_conversation("gone", 1),
    }
    with pytest.raises(ConversationNotFoundError, match="There is no conversation 'gone'"):
        await uses[use]()


@pytest.mark.parametrize("first", ["request", "insert"])
async def test_the_first_message_begins_a_conversation_with_an_id_of_ones_own(first: str) -> None:
    store = MemoryStore()
    service = AgentService(Platform(ScriptedModel("Hello."), store=store)).register(Agent("a"))
    if first == "request":
        await service.request_agent("a", "Hi", conversation_id="user-7")
    else:
        await service.insert_message("user-7", "user", "Hi")
    elsewhere = AgentService(Platform(ScriptedModel("Hello again."), store=store)).register(Agent("a"))
    assert said(await elsewhere.conversation("user-7")) == ["Hi", "Hello."][: 2 if first == "request" else 1]
    await elsewhere.request_agent("a", "Me again", conversation_id="user-7")
    assert said(await service.conversation("user-7"))[-2:] == ["Me again", "Hello again."]


@pytest.mark.parametrize("wrong", ["", "x" * 201])
async def test_an_id_that_is_too_long_or_empty(wrong: str) -> None:
    service = AgentService(ScriptedModel()).register(Agent("a"))
    with pytest.raises(ValueError, match="1 to 200 characters"):
        await service.request_agent("a", "Hi", conversation_id=wrong)


async def test_a_deleted_conversation_is_gone() -> None:
    service = AgentService(ScriptedModel("a")).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.request_agent("a", "Hi", conversation_id=conversation_id)
    await service.delete_conversation(conversation_id)
    with pytest.raises(ConversationNotFoundError):
        await service.conversation(conversation_id)
    unused = service.create_conversation()
    await service.delete_conversation(unused)
    with pytest.raises(ConversationNotFoundError):
        await service.conversation(unused)
    await service.delete_conversation("never there")


async def test_messages_can_be_inserted_removed_and_truncated() -> None:
    model = ScriptedModel("a", "b")
    service = AgentService(model).register(Agent("a"))
    conversation_id = service.create_conversation()
    first = await service.insert_message(conversation_id, "system", "The door is open.")
    await service.insert_message(conversation_id, "assistant", "I see.")
    assert await service.remove_message(conversation_id, first) is True
    assert await service.remove_message(conversation_id, first) is False
    await service.insert_message(conversation_id, "user", "Look.")
    await service.request_agent("a", "Now?", conversation_id=conversation_id)
    assert model.calls[0].prompt == "I see.\nLook.\nNow?"
    await service.truncate_conversation(conversation_id, 2)
    await service.request_agent("a", "Again", conversation_id=conversation_id)
    assert model.calls[1].prompt == "Now?\na\nAgain"


async def test_a_message_comes_from_somebody() -> None:
    service = AgentService(ScriptedModel())
    with pytest.raises(ValueError, match="not from 'tool'"):
        await service.insert_message(service.create_conversation(), "tool", "x")  # type: ignore[arg-type]


async def test_what_is_given_out_is_a_copy() -> None:
    service = AgentService(ScriptedModel())
    conversation_id = service.create_conversation()
    await service.insert_message(conversation_id, "user", "x")
    (await service.conversation(conversation_id)).truncate(0)
    assert said(await service.conversation(conversation_id)) == ["x"]


class Slow(ScriptedModel):
    """Answers when it is let."""

    def __init__(self, *steps: object) -> None:
        super().__init__(*steps)
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.asked.set()
        await self.may_answer.wait()
        return await super().generate(request)


async def test_two_requests_in_one_conversation_are_answered_one_after_the_other() -> None:
    model = Slow("one", "two")
    service = AgentService(model).register(Agent("a"))
    conversation_id = service.create_conversation()
    async with asyncio.TaskGroup() as group:
        group.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
        group.create_task(service.request_agent("a", "2", conversation_id=conversation_id))
        await model.asked.wait()
        model.may_answer.set()
    assert said(await service.conversation(conversation_id)) == ["1", "one", "2", "two"]
    assert model.calls[1].prompt == "1\none\n2"


async def test_requests_in_different_conversations_do_not_wait_for_each_other() -> None:
    service = AgentService(Slow("never")).register(Agent("slow"), Agent("fast", model=ScriptedModel("quick")))
    waiting = asyncio.create_task(service.request_agent("slow", "1", conversation_id=service.create_conversation()))
    result = await service.request_agent("fast", "2", conversation_id=service.create_conversation())
    assert result.output == "quick"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_an_infinite_agent_sees_what_is_inserted_and_ends_when_it_is_cancelled() -> None:
    seen = asyncio.Event()

    @tool(repeatable=True)
    async def look() -> str:
        """Looks around."""
        if len(model.calls) == 1:
            await service.insert_message(conversation_id, "user", "A dragon comes.")
        if len(model.calls) == 3:
            seen.set()
            await asyncio.Event().wait()
        return "nothing"

    model = ScriptedModel(*[ToolCall("look")] * 3)
    observer = Agent("observer", tools=[look], autonomy=Autonomous(infinite=True, max_iterations=None))
    service = AgentService(model).register(observer)
    conversation_id = service.create_conversation()
    task = asyncio.create_task(service.request_agent("observer", "Watch.", conversation_id=conversation_id))
    await seen.wait()
    assert service.update_tools("observer", [look]) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.calls[1].prompt == "Watch.\n\nnothing\nA dragon comes."
    conversation = await service.conversation(conversation_id)
    assert said(conversation)[:4] == ["Watch.", "", "nothing", "A dragon comes."]
    assert conversation.open_calls == ()
    assert service.update_tools("observer", [look]) == 0


async def test_a_message_of_a_running_conversation_can_be_removed() -> None:
    @tool
    async def tidy() -> str:
        """Tidies up."""
        await service.remove_message(conversation_id, stale)
        return "tidy"

    model = ScriptedModel(ToolCall("tidy"), "done")
    service = AgentService(model).register(Agent("a", tools=[tidy]))
    conversation_id = service.create_conversation()
    stale = await service.insert_message(conversation_id, "user", "old snapshot")
    await service.request_agent("a", "go", conversation_id=conversation_id)
    assert model.calls[1].prompt == "go\n\ntidy"
    assert said(await service.conversation(conversation_id)) == ["go", "", "tidy", "done"]


@tool
def look() -> str:
    """Looks around."""
    return "nothing"


async def test_a_request_that_fails_leaves_a_conversation_that_goes_on() -> None:
    store = MemoryStore()
    model = ScriptedModel(ToolCall("look"), ModelServerError("down"), "fine")
    service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[look]))
    conversation_id = service.create_conversation()
    with pytest.raises(ModelServerError):
        await service.request_agent("a", "1", conversation_id=conversation_id)
    kept = await ConversationStore(store).load(conversation_id)
    assert kept is not None
    assert said(kept) == ["1", "", "nothing"]
    assert (await service.request_agent("a", "2", conversation_id=conversation_id)).output == "fine"


async def test_a_message_that_a_guardrail_refuses_is_no_part_of_the_conversation() -> None:
    def polite(text: str) -> GuardrailResult:
        return guardrails.failed("rude") if "darn" in text else guardrails.passed()

    service = AgentService(ScriptedModel("fine")).register(Agent("a", input_guardrails=[polite]))
    conversation_id = service.create_conversation()
    with pytest.raises(GuardrailError):
        await service.request_agent("a", "darn", conversation_id=conversation_id)
    await service.request_agent("a", "please", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == ["please", "fine"]


async def test_a_handoff_adds_the_answer_to_the_conversation() -> None:
    model = ScriptedModel(ToolCall("transfer_to_billing"), "paid", "bye")
    service = AgentService(model).register(Agent("desk", handoffs=[handoff(Agent("billing"))]))
    conversation_id = service.create_conversation()
    await service.request_agent("desk", "pay", conversation_id=conversation_id)
    await service.request_agent("desk", "thanks", conversation_id=conversation_id)
    assert said(await service.conversation(conversation_id)) == [
        "pay", "", "Handed over to billing.", "paid", "thanks", "bye",
    ]  # fmt: skip


async def test_conversations_are_kept_in_the_store(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "talks.db") as store:
        service = AgentService(Platform(ScriptedModel("Hello Alice."), store=store)).register(Agent("a"))
        conversation_id = service.create_conversation()
        await service.request_agent("a", "My name is Alice.", conversation_id=conversation_id)
    async with SqliteStore(tmp_path / "talks.db") as store:
        model = ScriptedModel("Alice.")
        service = AgentService(Platform(model, store=store)).register(Agent("a"))
        await service.request_agent("a", "Who am I?", conversation_id=conversation_id)
    assert model.calls[0].prompt == "My name is Alice.\nHello Alice.\nWho am I?"


class Pausing(MemoryStore):
    """Stops in the middle of saving what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.saving = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        saved = await super().add_step(document, body)
        if "one" in StoredStep(saved.steps, body).text:
            self.saving.set()
            await self.may_go_on.wait()
        return saved


async def test_what_is_inserted_while_a_conversation_is_saved_is_not_lost() -> None:
    store = Pausing()
    service = AgentService(Platform(ScriptedModel("one"), store=store)).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
    await store.saving.wait()
    inserting = asyncio.create_task(service.insert_message(conversation_id, "user", "late"))
    await asyncio.sleep(0)  # lets the insertion begin
    store.may_go_on.set()
    await asyncio.gather(asking, inserting)
    assert said(await service.conversation(conversation_id)) == ["1", "one", "late"]


async def test_a_conversation_that_is_deleted_during_a_request_stays_deleted() -> None:
    model = Slow("late")
    service = AgentService(model).register(Agent("a"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
    await model.asked.wait()
    await service.delete_conversation(conversation_id)
    model.may_answer.set()
    assert (await asking).output == "late"
    with pytest.raises(ConversationNotFoundError):
        await service.conversation(conversation_id)


async def test_a_conversation_stays_at_its_instance() -> None:
    models = {name: ScriptedModel(*["ok"] * 30) for name in ("one", "two", "three")}
    router = ModelRouter([Deployment(name, "m", one) for name, one in models.items()], policy="sticky")
    service = AgentService(router).register(Agent("a", model="m"))
    conversation_id = service.create_conversation()
    for turn in range(6):
        await service.request_agent("a", f"{turn}", conversation_id=conversation_id)
    assert sorted(len(model.calls) for model in models.values()) == [0, 0, 6]


async def test_an_assistant_message_may_come_first() -> None:
    model = ScriptedModel("ok")
    service = AgentService(model).register(Agent("a"))
    conversation_id = service.create_conversation()
    await service.insert_message(conversation_id, "assistant", "Welcome!")
    await service.request_agent("a", "Hi", conversation_id=conversation_id)
    assert model.calls[0].messages[0] == AssistantMessage((Text("Welcome!"),))


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_a_request_that_is_cancelled_at_any_step_leaves_a_conversation_that_goes_on(
    tmp_path: Path, steps: int
) -> None:
    @tool
    async def step() -> str:
        """Takes its time."""
        for _ in range(8):
            await asyncio.sleep(0)
        return "done"

    async with SqliteStore(tmp_path / "talks.db") as store:
        model = ScriptedModel(*[[ToolCall("step"), ToolCall("step")]] * 3, *["ok"] * 3)
        service = AgentService(Platform(model, store=store)).register(Agent("a", tools=[step]), Agent("b"))
        conversation_id = service.create_conversation()
        asking = asyncio.create_task(service.request_agent("a", "1", conversation_id=conversation_id))
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        plain = ScriptedModel("fine")
        service.register(Agent("b", model=plain), replace=True)
        assert (await service.request_agent("b", "2", conversation_id=conversation_id)).output == "fine"
        kept = await ConversationStore(store).load(conversation_id)
        assert kept is not None
        assert kept.open_calls == ()
        assert said(kept)[-2:] == ["2", "fine"]
        calls = [call.id for one in kept.messages if isinstance(one, AssistantMessage) for call in one.tool_calls]
        assert calls == [one.call_id for one in kept.messages if isinstance(one, ToolResult)]


async def test_a_message_that_is_inserted_while_a_call_is_open_is_saved_with_its_result() -> None:
    store, saved = MemoryStore(), list[int]()
    service = AgentService(Platform(ScriptedModel(ToolCall("look_up"), "It is 3."), store=store))
    conversation_id = "user-7"

    async def look_up() -> str:
        """Look up."""
        before = await ConversationStore(store).load(conversation_id)
        await service.insert_message(conversation_id, "user", "Hurry up.")
        after = await ConversationStore(store).load(conversation_id)
        assert before is not None
        assert after is not None
        saved.extend((before.version, after.version))
        assert after.open_calls == ()
        return "3"

    service.register(Agent("a", tools=[look_up]))
    await service.request_agent("a", "How many?", conversation_id=conversation_id)
    assert saved[0] == saved[1]
    assert said(await service.conversation(conversation_id)) == ["How many?", "", "3", "Hurry up.", "It is 3."]


async def test_a_function_that_takes_a_text_gets_what_the_user_says_last() -> None:
    async def repeat(text: str) -> str:
        return f"You said: {text}"

    service = AgentService(ScriptedModel()).register(runnable(repeat))
    answers = [(await service.request_agent("repeat", text, conversation_id="c")).output for text in ("one", "two")]

    assert answers == ["You said: one", "You said: two"]
