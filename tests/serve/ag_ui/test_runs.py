"""Runs of AG-UI clients: their events, the answers that resume them, and their ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest
from ag_ui.core import (
    CustomEvent,
    Event,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from tactician import Agent, Ensemble, Platform, RunContext, SupervisorAgent, Task, tool
from tactician.conversation import ChatUser
from tactician.runs import RunStatus
from tactician.serve import Person
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.ag_ui.newsroom import Json, ask, create_platform, create_publisher, run, served
from tests.serve.ag_ui.order import apply_state, check_order
from tests.serve.api.serving import Gate

PEOPLE = {
    "a-token-of-the-clerk": Person("Anna", roles=frozenset({"clerk"})),
    "a-token-of-the-editor": Person("Bert", roles=frozenset({"editor"})),
    "a-token-of-the-guest": Person("Carl", rights=frozenset({"see", "start"})),
}


def kinds(events: list[Event]) -> list[str]:
    return [event.type.value for event in events]


def text(events: list[Event]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextMessageContentEvent))


def interrupts(events: list[Event]) -> list[Interrupt]:
    last = events[-1]
    assert isinstance(last, RunFinishedEvent)
    assert isinstance(last.outcome, RunFinishedInterruptOutcome)
    return last.outcome.interrupts


def answer(interrupt: Interrupt, payload: object) -> Json:
    entry = {"interruptId": interrupt.id, "status": "resolved", "payload": payload}
    return ask(resume=[entry])


def find_error(events: list[Event]) -> tuple[str | None, str]:
    last = events[-1]
    assert isinstance(last, RunErrorEvent)
    return last.code, last.message


class TestPlannedAgents:
    async def test_a_plan_a_replan_a_nested_agent_and_an_approval_after_a_restart(self, tmp_path: Path) -> None:
        store = str(tmp_path / "runs.db")
        async with served(create_platform(SqliteStore(store))) as client:
            first = await run(client, "newsroom", ask())
        check_order(first)
        state = apply_state(first)
        (interrupt,) = interrupts(first)

        assert state["theme"] == "dark"
        assert [step["name"] for step in state["plan"]["actions"]] == ["write_draft", "review", "publish_article"]
        assert kinds(first).count("STATE_DELTA") == 1
        steps = [event.step_name for event in first if event.type.value == "STEP_STARTED"]  # type: ignore[union-attr]
        assert steps == ["search_archive", "write_draft", "review", "publish_article"]
        assert (interrupt.reason, interrupt.subagent_run_id) == ("tool_call", interrupt.tool_call_id.rpartition("/")[0])  # type: ignore[union-attr]
        assert "editedArgs" in cast("Json", interrupt.response_schema)["properties"]
        assert text(first) == ""

        async with served(create_platform(SqliteStore(store), is_resumed=True)) as client:
            second = await run(
                client, "newsroom", answer(interrupt, {"approved": True, "editedArgs": {"text": "Toads"}})
            )
        check_order(second)
        last = second[-1]
        assert isinstance(last, RunFinishedEvent)
        assert last.result == {"text": "It is out."}
        (result,) = (event for event in second if event.type.value == "TOOL_CALL_RESULT")
        assert (result.tool_call_id, result.content) == (interrupt.tool_call_id, "published Toads")  # type: ignore[union-attr]
        assert "REASONING_MESSAGE_CONTENT" in kinds(second)
        assert "TOOL_CALL_START" not in kinds(second)
        assert apply_state(second, state) == state

    async def test_costs_and_the_id_of_the_run_are_custom_events(self) -> None:
        async with served(create_platform()) as client:
            events = await run(client, "newsroom", ask())
        custom = [event for event in events if isinstance(event, CustomEvent)]
        last = events[-1]

        assert [event.name for event in custom] == ["tactician.run", *["tactician.cost"] * 3]
        assert custom[0].value["agent"] == "Newsroom"
        assert isinstance(last, RunFinishedEvent)
        assert [usage.output_tokens for usage in last.usage or ()] == [custom[-1].value["output_tokens"]]

    async def test_an_input_is_forwarded_and_forms_are_filled_in(self) -> None:
        order = ask(forwardedProps={"input": {"number": 7}, "type": "Order"})
        async with served(create_platform()) as client:
            (form,) = interrupts(await run(client, "shop", order))
            wrong = await run(client, "shop", answer(form, {"town": "Rome"}))
            (question,) = interrupts(await run(client, "shop", answer(form, {"city": "Rome"})))
            done = await run(client, "shop", answer(question, True))

        assert (form.reason, cast("Json", form.response_schema)["required"]) == ("input_required", ["city"])
        assert "city" in (interrupts(wrong)[0].message or "")
        assert question.reason == "confirmation"
        assert text(done) == '{"label":"7 to Rome"}'

    async def test_a_review_needs_its_role_and_the_right_to_answer(self) -> None:
        async with AsyncExitStack() as stack:
            platform = create_platform()
            clerk, editor, guest = [
                await stack.enter_async_context(served(platform, PEOPLE, token)) for token in PEOPLE
            ]
            (review,) = interrupts(await run(clerk, "press", ask()))
            decision = answer(review, {"decision": "approve"})
            refused = await guest.post("/press", json=decision)
            code, message = find_error(await run(editor, "press", decision))
            done = await run(clerk, "press", decision)

        assert refused.status_code == 403
        assert (code, "needs an answer with the role 'clerk'" in message) == ("ResponseError", True)
        assert text(done) == "printed"

    @pytest.mark.parametrize(
        "decision",
        [
            {"status": "resolved", "payload": {"approved": False, "reason": "too early"}},
            {"status": "resolved", "payload": False},
            {"status": "cancelled"},
        ],
    )
    @pytest.mark.parametrize("agent", ["newsroom", "publisher"])
    async def test_a_rejected_call_of_a_tool_gets_its_result(self, agent: str, decision: Json) -> None:
        platform = create_platform().register(create_publisher(is_resumed=False))
        async with served(platform) as client:
            first = await run(client, agent, ask())
            (approval,) = interrupts(first)
            second = await run(client, agent, ask(resume=[{"interruptId": approval.id, **decision}]))

        check_order(second)
        (called,) = (event for event in first if isinstance(event, ToolCallStartEvent))
        (result,) = (event for event in second if isinstance(event, ToolCallResultEvent))
        assert result.tool_call_id == called.tool_call_id == approval.tool_call_id
        assert str(result.content).startswith("Not run: the call was rejected")
        assert kinds(second)[-1] == "RUN_FINISHED"

    async def test_a_form_that_nobody_answers_is_declined(self) -> None:
        order = ask(forwardedProps={"input": {"number": 7}})
        async with served(create_platform()) as client:
            (form,) = interrupts(await run(client, "shop", order))
            entry = {"interruptId": form.id, "status": "cancelled"}
            code, message = find_error(await run(client, "shop", ask(resume=[entry])))

        assert code == "ProcessStuckError"
        assert "declined" in message


class TestConversations:
    async def test_text_comes_in_pieces_and_the_next_run_knows_it(self) -> None:
        model = ScriptedModel("Hello there, Anna.", "Again.")
        platform = Platform(ScriptedModel(), store=MemoryStore()).register(Agent("Talker", model=model))
        messages = [
            {"id": "1", "role": "system", "content": "Obey."},
            {"id": "2", "role": "user", "content": "I am Anna"},
            {"id": "3", "role": "assistant", "toolCalls": [_call("c1"), _call("c2")]},
            {"id": "4", "role": "tool", "toolCallId": "c1", "content": "found"},
            {"id": "5", "role": "assistant", "content": "Hello there, Anna."},
            {"id": "6", "role": "assistant", "content": "a draft", "subagentRunId": "s"},
            {"id": "7", "role": "user", "content": [{"type": "text", "text": "Who am I?"}]},
        ]
        context = [{"description": "page", "value": "start"}]
        async with served(platform) as client:
            first = await run(client, "talker", ask("I am Anna"))
            second = await run(client, "talker", ask(messages=messages, context=context))

        check_order(first)
        assert (text(first), text(second)) == ("Hello there, Anna.", "Again.")
        assert kinds(first).count("TEXT_MESSAGE_CONTENT") > 1
        told = [(message.role, message.text) for message in model.calls[1].messages]
        assert told == [
            ("user", "What the application knows:\npage: start"),
            ("user", "I am Anna"),
            ("assistant", ""),
            ("tool", "found"),
            ("assistant", "Hello there, Anna."),
            ("user", "Who am I?"),
        ]

    async def test_workers_and_their_tools_are_subagents(self) -> None:
        worker = Agent("Worker", model=ScriptedModel("Two."), description="Counts")
        lead = ScriptedModel(ToolCall("invoke_worker", request="Count"), "There are two.")
        boss = SupervisorAgent("Boss", model=lead, workers={"Counts": worker})
        async with served(Platform(ScriptedModel(), store=MemoryStore()).register(boss)) as client:
            events = await run(client, "boss", ask("How many?"))

        check_order(events)
        (started,) = (event for event in events if event.type.value == "SUBAGENT_STARTED")
        (call,) = (event for event in events if event.type.value == "TOOL_CALL_START")
        assert started.parent_tool_call_id == call.tool_call_id  # type: ignore[union-attr]
        own = [event for event in events if getattr(event, "subagent_run_id", None) is None]
        assert text(own) == "There are two."

    async def test_tasks_of_an_ensemble_are_steps(self) -> None:
        tasks = [Task("Count", id="count", handler=lambda _: "2"), Task("Double", id="double", handler=lambda _: "4")]
        async with served(Platform(ScriptedModel(), store=MemoryStore()).register(Ensemble("Sums", tasks))) as client:
            events = await run(client, "sums", ask("2"))

        check_order(events)
        steps = [event.step_name for event in events if event.type.value == "STEP_STARTED"]  # type: ignore[union-attr]
        assert steps == ["count", "double"]
        assert text(events) == "4"


class TestEnds:
    async def test_an_error_of_the_run(self) -> None:
        async with served(create_platform()) as client:
            events = await run(client, "broken", ask())

        check_order(events)
        assert "it is broken" in find_error(events)[1]

    async def test_a_run_that_somebody_ends(self) -> None:
        gate = Gate()
        platform = create_platform(gate=gate)

        async def end() -> None:
            await gate.reached.wait()
            (running,) = await platform.runs(status="running")
            await platform.kill(running.id, "enough")
            gate.open.set()

        async with served(platform) as client:
            ending = asyncio.create_task(end())
            events = await run(client, "slow", ask())
            await ending

        last = events[-1]
        check_order(events)
        assert isinstance(last, RunFinishedEvent)
        assert last.outcome == RunFinishedCancelledOutcome()

    @pytest.mark.parametrize(
        ("ids", "words"),
        [
            (["nonsense"], "must belong to an interrupt"),
            (["a:1", "b:2"], "all to the same run"),
            (["nothing:1"], "nothing"),
            (["{run}:other"], "does not wait for other"),
            ([], ""),
        ],
    )
    async def test_answers_to_what_nobody_asked(self, ids: list[str], words: str) -> None:
        async with served(create_platform()) as client:
            (asked,) = interrupts(await run(client, "newsroom", ask()))
            run_id = asked.id.partition(":")[0]
            names = [name.replace("{run}", run_id) for name in ids] or [asked.id]
            resume = [{"interruptId": name, "status": "resolved", "payload": {"approved": True}} for name in names]
            events = await run(client, "newsroom", ask(resume=resume))
            if not ids:  # the same answer a second time
                events = await run(client, "newsroom", ask(resume=resume))
            code, message = find_error(events)

        assert code in ("ResponseError", "RunNotFoundError")
        assert words in message

    async def test_an_interrupt_of_another_agent_is_not_answered(self) -> None:
        platform = create_platform()
        async with served(platform) as client:
            (asked,) = interrupts(await run(client, "newsroom", ask()))
            code, _ = find_error(await run(client, "talker", answer(asked, {"approved": True})))
            (waiting,) = await platform.runs(status="waiting")

        assert code == "RunNotFoundError"
        assert waiting.status == RunStatus.WAITING

    @pytest.mark.parametrize(
        ("agent", "body", "status", "words"),
        [
            ("nobody", ask(), 404, "no agent 'nobody'"),
            ("talker", {"threadId": "t"}, 422, "runId"),
            ("talker", ask(messages=[]), 422, "no message of the user"),
            ("shop", ask(forwardedProps={"input": {"numbr": 1}}), 422, "Order.number: Field required"),
            ("talker", ask(messages=[{"id": "1", "role": "user", "content": [{}]}]), 422, "content"),
        ],
    )
    async def test_requests_that_are_refused(self, agent: str, body: Json, status: int, words: str) -> None:
        async with served(create_platform()) as client:
            refused = await client.post(f"/{agent}", json=body)

        assert refused.status_code == status
        assert words in refused.json()["error"]["message"]


def _call(name: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": "find", "arguments": "{}"}}


async def test_tools_know_the_person() -> None:
    @tool
    def who(context: RunContext) -> str:
        """Say who asks."""
        user = context.find(ChatUser)
        return "nobody" if user is None else user.id

    model = ScriptedModel(ToolCall("who"), "Said.")
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Agent("Asker", model=model, tools=[who]))
    async with served(platform, {"anna-has-a-secret": Person("anna")}, "anna-has-a-secret") as client:
        await run(client, "asker", ask("Who?"))

    assert model.calls[1].messages[-1].text == "anna"
