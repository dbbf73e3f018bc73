"""Runs that wait for a person: clients that can ask, clients that cannot, and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from tactician import Agent, Ensemble, Platform, Review, RunStatus, Task, achieves_goal, action, planned_agent
from tactician.process import PlanReview, ask_human
from tactician.serve import McpPublisher
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.mcp.kitchen import (
    ERAS,
    Era,
    Kitchen,
    Person,
    Wish,
    Wishes,
    connect,
    create_platform,
    delete,
    read,
    read_json,
)
from tests.support.waiting import eventually

WISHES: Mapping[str, str | bool] = {"vegetarian": True, "size": "large"}


def find_request(result: types.CallToolResult) -> dict[str, str]:
    """The arguments of `respond` for the first request of a run that waits."""
    waiting = result.structured_content
    assert waiting["status"] == "waiting"
    return {"run_id": waiting["run_id"], "request_id": waiting["requests"][0]["id"]}


@pytest.mark.parametrize("era", ERAS)
class TestClientsThatCanAsk:
    async def test_the_person_at_the_client_is_asked(self, era: Era) -> None:
        person = Person(WISHES, {"confirmed": True})
        async with connect(McpPublisher(create_platform()), era, person) as client:
            result = await client.call_tool("ask_wishes", {"dish": "pie"})
        assert result.structured_content == {"dish": "pie", "note": "large, vegetarian: True, sure: True"}
        form, confirmation = person.asked
        assert form.message == "How do you like pie?\nAsked by Careful / ask."
        fields = form.requested_schema["properties"]
        assert {name: field["type"] for name, field in fields.items()} == {
            "vegetarian": "boolean",
            "size": "string",
            "note": "string",
        }
        assert fields["size"]["enum"] == ["small", "large"]
        assert list(confirmation.requested_schema["properties"]) == ["confirmed"]

    async def test_an_answer_that_does_not_fit_is_asked_again_with_the_reason(self, era: Era) -> None:
        person = Person({"vegetarian": "perhaps"}, WISHES, {"confirmed": False})
        async with connect(McpPublisher(create_platform()), era, person) as client:
            result = await client.call_tool("ask_wishes", {"dish": "pie"})
        assert read_json(result)["note"] == "large, vegetarian: True, sure: False"
        assert "The last answer was not valid: vegetarian: " in person.asked[1].message

    async def test_what_is_not_flat_is_asked_as_json(self, era: Era) -> None:
        person = Person({"answer": "no json"}, {"answer": '{"orders": [{"dish": "pie"}, {"dish": "tea"}]}'})
        async with connect(McpPublisher(create_platform()), era, person) as client:
            wrong = await client.call_tool("plan_orders", {"text": "x"})
            assert wrong.is_error
            assert "the answer must be JSON" in read(wrong)
            right = await client.call_tool("plan_orders", {"text": "x"})
        assert right.structured_content == {"result": 2}
        assert "Write JSON in this shape: " in person.asked[0].message

    async def test_a_person_who_declines_has_rejected_it(self, era: Era) -> None:
        async with connect(McpPublisher(create_platform()), era, Person("decline")) as client:
            result = await client.call_tool("ask_wishes", {"dish": "pie"})
        assert result.is_error
        assert "the person declined" in read(result)

    async def test_a_person_who_closes_the_form_can_answer_later(self, era: Era) -> None:
        async with connect(McpPublisher(create_platform()), era, Person("cancel", {"confirmed": True})) as client:
            waiting = await client.call_tool("ask_wishes", {"dish": "pie"})
            result = await client.call_tool("respond", {**find_request(waiting), "answer": WISHES})
            assert read_json(result)["note"] == "large, vegetarian: True, sure: True"

    async def test_a_tool_that_needs_an_approval_asks_first(self, era: Era) -> None:
        person = Person({"approved": True}, {"approved": False, "reason": "too dear"}, "decline")
        async with connect(McpPublisher(Platform(ScriptedModel()), delete), era, person) as client:
            assert read(await client.call_tool("delete", {"path": "a"})) == "deleted a"
            refused = await client.call_tool("delete", {"path": "a"})
            assert (refused.is_error, read(refused)) == (True, "delete was not approved. too dear")
            assert (await client.call_tool("delete", {"path": "a"})).is_error
        assert person.asked[0].message == 'May delete({"path":"a"}) be called?'

    async def test_an_agent_that_waits_for_an_approval(self, era: Era) -> None:
        platform = Platform(ScriptedModel(ToolCall("delete", path="a"), "It is gone"))
        publisher = McpPublisher(platform, Agent("Clerk", tools=[delete]))
        async with connect(publisher, era, Person({"approved": True})) as client:
            assert read(await client.call_tool("clerk", {"request": "delete a"})) == "It is gone"


@pytest.mark.parametrize("era", ERAS)
class TestClientsThatCannotAsk:
    async def test_they_get_the_run_and_answer_it_with_a_tool(self, era: Era) -> None:
        async with connect(McpPublisher(create_platform()), era) as client:
            await client.list_tools()  # so that results are checked against their schemas
            waiting = await client.call_tool("ask_wishes", {"dish": "pie"})
            assert not waiting.is_error
            assert read(waiting).splitlines()[1] == "- Careful/ask/asked: How do you like pie?"
            asked = find_request(waiting)
            status = read_json(await client.call_tool("run_status", {"run_id": asked["run_id"]}))
            assert (status["status"], status["name"]) == ("waiting", "Careful")
            wrong = await client.call_tool("respond", {**asked, "answer": {"vegetarian": "perhaps"}})
            assert (wrong.is_error, "the answer is not valid: vegetarian" in read(wrong)) == (True, True)
            sure = await client.call_tool("respond", {**asked, "answer": WISHES})
            result = await client.call_tool("respond", {**find_request(sure), "answer": False})
            assert result.structured_content == {"dish": "pie", "note": "large, vegetarian: True, sure: False"}
            again = await client.call_tool("respond", {**find_request(sure), "answer": False})
            assert again.is_error

    async def test_a_plan_is_reviewed_before_it_is_followed(self, era: Era) -> None:
        platform = Platform(ScriptedModel(), plan_review=PlanReview()).register(Kitchen())
        async with connect(McpPublisher(platform), era) as client:
            waiting = await client.call_tool("serve", {"order": {"dish": "pie"}, "guest": {"name": "Ann"}})
            assert "Plan of Kitchen: serve" in read(waiting)
            refused = await client.call_tool(
                "respond", {**find_request(waiting), "answer": {"approved": False, "reason": "no pie"}}
            )
            assert (refused.is_error, "was rejected: no pie" in read(refused)) == (True, True)
            again = await client.call_tool("serve", {"order": {"dish": "pie"}, "guest": {"name": "Ann"}})
            done = await client.call_tool("respond", {**find_request(again), "answer": {"approved": True}})
        assert read(done) == "pie for Ann"

    async def test_a_tool_that_needs_an_approval_is_not_called(self, era: Era) -> None:
        async with connect(McpPublisher(Platform(ScriptedModel()), delete), era) as client:
            result = await client.call_tool("delete", {"path": "a"})
            assert (result.is_error, read(result)) == (
                True,
                "delete needs an approval, and this client cannot ask a person.",
            )

    async def test_runs_of_what_is_not_published_are_not_shown(self, era: Era) -> None:
        platform = Platform(ScriptedModel(ToolCall("delete", path="a")))
        hidden = Agent("Hidden", tools=[delete])
        platform.register(hidden)
        run = await hidden.run("delete a", context=platform.context())
        assert run.status is RunStatus.WAITING
        async with connect(McpPublisher(platform), era) as client:
            for tool_name, arguments in (
                ("run_status", {}),
                ("respond", {"request_id": run.pending[0].id, "answer": True}),
            ):
                result = await client.call_tool(tool_name, {"run_id": run.run_id, **arguments})
                assert (result.is_error, "There is no run with the id" in read(result)) == (True, True)


def create_script() -> ScriptedModel:
    return ScriptedModel(ToolCall("delete", path="a"), "It is gone")


def publish_careful(*, approve: bool = False, model: ScriptedModel | None = None) -> McpPublisher:
    """Two agents that wait for decisions: an approval of a tool, and an answer that needs a role."""
    platform = Platform(model or create_script(), store=MemoryStore())
    judged = Task("Write", handler=lambda _: "x", review=Review.after(required_role="editor"))
    return McpPublisher(
        platform, Agent("Clerk", tools=[delete]), Ensemble("Desk", [judged]), lets_callers_approve=approve
    )


CALLS = (("clerk", {"request": "delete a"}, True), ("desk", {"request": "go"}, {"action": "approve"}))


@pytest.mark.parametrize("era", ERAS)
class TestDecisions:
    @pytest.mark.parametrize(("name", "arguments", "answer"), CALLS)
    async def test_a_model_does_not_decide(
        self, era: Era, name: str, arguments: dict[str, str], answer: JsonValue
    ) -> None:
        async with connect(publish_careful(), era) as client:
            waiting = await client.call_tool(name, arguments)
            asked = find_request(waiting)
            assert f"The tool respond cannot answer {asked['request_id']}. A person decides that" in read(waiting)
            assert "Then call the tool respond" not in read(waiting)
            refused = await client.call_tool("respond", {**asked, "answer": answer})
            assert refused.is_error
            assert read(refused).startswith(f"respond cannot answer {asked['request_id']}. A person decides that: in a")
            status = read_json(await client.call_tool("run_status", {"run_id": asked["run_id"]}))
            assert status["status"] == "waiting"

    async def test_it_may_approve_where_the_program_says_so(self, era: Era) -> None:
        async with connect(publish_careful(approve=True), era) as client:
            waiting = await client.call_tool("clerk", {"request": "delete a"})
            assert "Then call the tool respond" in read(waiting)
            done = await client.call_tool("respond", {**find_request(waiting), "answer": True})
            assert read(done) == "It is gone"

    async def test_a_role_is_needed_also_where_callers_approve(self, era: Era) -> None:
        async with connect(publish_careful(approve=True), era) as client:
            waiting = await client.call_tool("desk", {"request": "go"})
            refused = await client.call_tool("respond", {**find_request(waiting), "answer": {"action": "approve"}})
            assert (refused.is_error, "editor" in read(refused)) == (True, True)

    async def test_a_form_reaches_the_person_whatever_the_model_answers(self, era: Era) -> None:
        person = Person("cancel", {"approved": False, "reason": "keep it"})
        model = create_script()
        async with connect(publish_careful(model=model), era, person) as client:
            waiting = await client.call_tool("clerk", {"request": "delete a"})
            result = await client.call_tool("respond", {**find_request(waiting), "answer": True})
            assert read(result) == "It is gone"  # the script says so; the tool was not called
        assert len(person.asked) == 2
        assert "keep it" in model.calls[-1].prompt

    async def test_a_person_of_the_program_decides(self, era: Era) -> None:
        publisher = publish_careful()
        async with connect(publisher, era) as client:
            asked = find_request(await client.call_tool("clerk", {"request": "delete a"}))
            await publisher.platform.respond(asked["run_id"], asked["request_id"], True)
            status = read_json(await client.call_tool("run_status", {"run_id": asked["run_id"]}))
        assert (status["status"], status["output"]) == ("completed", "It is gone")


async def test_a_state_that_was_tampered_with_is_refused() -> None:
    async with connect(McpPublisher(create_platform()), person=Person()) as client:
        asked = await client.session.call_tool("ask_wishes", {"dish": "pie"}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.request_state is not None
        for state in (asked.request_state[:-4] + "AAAA", "v1.x"):
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await client.session.call_tool("ask_wishes", {"dish": "pie"}, request_state=state)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.session.call_tool("ask_wishes", {"dish": "tea"}, request_state=asked.request_state)


class TestRestarts:
    """A waiting run outlives the program: here each program is a platform of its own over the same file."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> str:
        return str(tmp_path / "runs.db")

    async def test_another_program_takes_the_answer(self, store: str) -> None:
        async with create_platform(store=SqliteStore(store)) as platform, connect(McpPublisher(platform)) as client:
            asked = find_request(await client.call_tool("ask_wishes", {"dish": "pie"}))
        person = Person({"confirmed": True})
        async with (
            create_platform(store=SqliteStore(store)) as platform,
            connect(McpPublisher(platform), person=person) as client,
        ):
            assert read_json(await client.call_tool("run_status", {"run_id": asked["run_id"]}))["status"] == "waiting"
            result = await client.call_tool("respond", {**asked, "answer": WISHES})
            assert read_json(result) == {"dish": "pie", "note": "large, vegetarian: True, sure: True"}
            status = read_json(await client.call_tool("run_status", {"run_id": asked["run_id"]}))
            assert status["status"] == "completed"

    async def test_a_call_that_has_asked_goes_on_in_another_program_with_the_same_secret(self, store: str) -> None:
        secret = "an example of a secret, long enough"
        async with (
            create_platform(store=SqliteStore(store)) as platform,
            connect(McpPublisher(platform, secret=secret), person=Person()) as client,
        ):
            asked = await client.session.call_tool("ask_wishes", {"dish": "pie"}, allow_input_required=True)
            assert isinstance(asked, types.InputRequiredResult)
        assert asked.input_requests is not None
        (name,) = asked.input_requests
        answers: types.InputResponses = {name: types.ElicitResult(action="accept", content={**WISHES})}
        person = Person({"confirmed": True})
        async with (
            create_platform(store=SqliteStore(store)) as platform,
            connect(McpPublisher(platform, secret=secret), person=person) as client,
        ):
            result = await client.call_tool(
                "ask_wishes", {"dish": "pie"}, input_responses=answers, request_state=asked.request_state
            )
        assert read_json(result)["note"] == "large, vegetarian: True, sure: True"


@pytest.mark.parametrize("era", ERAS)
class TestCancellation:
    async def test_the_run_of_a_cancelled_call_is_killed(self, era: Era, tmp_path: Path) -> None:
        started = asyncio.Event()

        @planned_agent(description="Takes long")
        class Slow:
            @achieves_goal("done")
            @action
            async def work(self, wish: Wish) -> str:
                started.set()
                await asyncio.sleep(60)
                return "done"

        async with (
            Platform(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db"))) as platform,
            connect(McpPublisher(platform, Slow()), era) as client,
        ):
            call = asyncio.create_task(client.call_tool("work", {"dish": "pie"}))
            await asyncio.wait_for(started.wait(), 30)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            async def is_killed() -> bool:
                return [run.status for run in await platform.runs()] == ["killed"]

            await eventually(is_killed)

    async def test_a_run_that_waits_for_a_person_stays(self, era: Era, tmp_path: Path) -> None:
        asked = asyncio.Event()

        class Slow(Person):
            async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
                asked.set()
                await asyncio.sleep(60)
                raise AssertionError

        @planned_agent(description="Asks")
        class Asking:
            @achieves_goal("done")
            @action
            async def ask(self, wish: Wish) -> str:
                return str(await ask_human(Wishes, "?"))

        async with Platform(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db"))) as platform:
            async with connect(McpPublisher(platform, Asking()), era, Slow()) as client:
                call = asyncio.create_task(client.call_tool("ask", {"dish": "pie"}))
                await asyncio.wait_for(asked.wait(), 30)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                await client.list_tools()
            assert [run.status for run in await platform.runs()] == ["waiting"]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_comes_from_the_events_of_the_run(era: Era) -> None:
    heard: list[tuple[float, str]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    async with connect(McpPublisher(create_platform()), era) as client:
        await client.call_tool("cook_meal", {"dish": "pie"}, progress_callback=report)
    assert [number for number, _ in heard] == sorted({number for number, _ in heard})
    assert (1, "Kitchen: starts towards cook") in heard
    assert heard[-1][1].startswith("Kitchen: has completed")
