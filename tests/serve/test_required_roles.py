"""Roles of whoever answers: each kind of request, on each way on which an answer comes, after a restart."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import httpx
import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Platform,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    confirm,
    planned_agent,
    tool,
)
from tactician.errors import DeclarationError, ResponseError
from tactician.runs import PendingRequest
from tactician.serve import A2aSettings, McpPublisher, Person
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import pipeline, write_file
from tactician.tools.builtin.pipeline import Pipeline
from tests.cli.support import tactician, written
from tests.serve.a2a.serving import JsonRpc, RefusedError, create_message, serve_a2a
from tests.serve.api.serving import served
from tests.serve.mcp.kitchen import connect
from tests.support.waiting import eventually

CLERK, MANAGER = "clerk-has-a-secret", "manager-has-a-secret"
PEOPLE = {CLERK: Person("carl"), MANAGER: Person("mia", frozenset({"manager"}))}
KINDS: Final = ("asker", "confirmer", "payer", "caller")


class Amount(BaseModel):
    euros: int


@planned_agent(description="Asks a manager")
class Asker:
    @achieves_goal("paid")
    @action
    async def pay(self, _: UserInput) -> str:
        return f"paid {(await ask_human(Amount, 'How much?', required_role='manager')).euros}"


@planned_agent(description="Lets a manager confirm")
class Confirmer:
    @achieves_goal("paid")
    @action
    async def pay(self, _: UserInput) -> str:
        return "paid 5" if await confirm(None, "Pay?", required_role="manager") else "kept"


@tool(needs_approval=lambda arguments: arguments["euros"] > 1, required_role="manager")
def pay(euros: int) -> str:
    """Pay an amount."""
    return f"paid {euros}"


@planned_agent(description="Calls an agent whose tool a manager approves")
class Caller:
    def __init__(self, payer: Agent) -> None:
        self.payer = payer

    @achieves_goal("paid")
    @action
    async def pay(self, asked: UserInput) -> str:
        return (await self.payer.run(asked.content)).output


def create_platform(store: DocumentStore, *, is_restarted: bool = False) -> Platform:
    answers = ["paid 5"] if is_restarted else [ToolCall("pay", euros=5), "paid 5"]
    payer, inner = (Agent(name, model=ScriptedModel(*answers), tools=[pay]) for name in ("Payer", "Inner"))
    return Platform(ScriptedModel(), store=store).register(Asker(), Confirmer(), payer, Caller(inner))


def find_answer(kind: str) -> object:
    return {"euros": 5} if kind == "asker" else True


async def begin(platform: Platform, kind: str) -> tuple[str, PendingRequest]:
    """Start a run, which waits, and return its id and what it waits for."""
    agent = platform.agents_by_id[kind]
    if kind == "payer":
        run_id = (await agent.run("Pay", context=platform.context())).run_id
    else:
        run_id = (await platform.start(agent, UserInput("Pay"))).id
    (request,) = (await platform.tree(run_id)).run.pending
    return run_id, request


Answer = Callable[[Platform, str, PendingRequest, object, bool], Awaitable[bool]]
"""Way of an answer, with the role or without: returns whether it was taken."""


async def over_platform(
    platform: Platform, run_id: str, request: PendingRequest, answer: object, has_role: bool
) -> bool:
    with nullcontext() if has_role else pytest.raises(ResponseError, match="'manager'"):
        await platform.respond(run_id, request.id, answer, role="manager" if has_role else "clerk")
    return has_role


async def over_http(platform: Platform, run_id: str, request: PendingRequest, answer: object, has_role: bool) -> bool:
    async with served(platform, people=PEOPLE, token=MANAGER if has_role else CLERK) as client:
        shown = (await client.get("/api/requests", params={"role": "manager"})).json()["requests"]
        assert [entry["request"]["may_answer"] for entry in shown] == [has_role]
        done = await client.post(f"/api/runs/{run_id}/answers", json={"request": request.id, "response": answer})
    assert done.status_code == (200 if has_role else 403), done.text
    return has_role


async def over_ag_ui(platform: Platform, run_id: str, request: PendingRequest, answer: object, has_role: bool) -> bool:
    agent = (await platform.tree(run_id)).run.name.lower()
    resume = [{"interruptId": f"{run_id}:{request.id}", "status": "resolved", "payload": answer}]
    body = {"threadId": "t", "runId": "r", "state": {}, "messages": [], "tools": [], "context": [], "resume": resume}
    async with served(platform, people=PEOPLE, token=MANAGER if has_role else CLERK) as client:
        done = await client.post(f"/agui/{agent}", json=body)
    assert ("RUN_ERROR" in done.text) is not has_role, done.text
    return has_role


WAYS: Final[dict[str, Answer]] = {"platform": over_platform, "http": over_http, "ag_ui": over_ag_ui}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
async def test_only_the_role_answers(kind: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with create_platform(SqliteStore(path)) as platform:
        run_id, request = await begin(platform, kind)
    assert request.required_role == "manager"

    async with create_platform(SqliteStore(path), is_restarted=True) as platform:
        assert not await WAYS[way](platform, run_id, request, find_answer(kind), False)
    async with create_platform(SqliteStore(path), is_restarted=True) as platform:
        assert (await platform.tree(run_id)).run.status == "waiting"
        assert await WAYS[way](platform, run_id, request, find_answer(kind), True)
    async with create_platform(SqliteStore(path)) as platform:
        done = (await platform.tree(run_id)).run
    assert (done.status, done.output) == ("completed", "paid 5")


@pytest.mark.parametrize("kind", KINDS)
async def test_models_of_mcp_clients_do_not_answer(kind: str) -> None:
    platform = create_platform(MemoryStore())
    run_id, request = await begin(platform, kind)
    publisher = McpPublisher(platform, *platform.agents.values())
    async with connect(publisher) as client:
        arguments = {"run_id": run_id, "request_id": request.id, "answer": find_answer(kind)}
        refused = await client.call_tool("respond", arguments)
    assert refused.is_error
    assert (await platform.tree(run_id)).run.status == "waiting"


@pytest.mark.parametrize(
    ("role", "code"), [((), 2), (("--role", "clerk"), 2), (("--role", "manager"), 0)], ids=["none", "other", "manager"]
)
def test_the_command_line_says_the_role(role: tuple[str, ...], code: int, tmp_path: Path) -> None:
    source = """
from tactician import UserInput, achieves_goal, action, confirm, planned_agent

@planned_agent(description="Asks")
class Payer:
    @achieves_goal("paid")
    @action
    async def pay(self, _: UserInput) -> str:
        return "paid" if await confirm(None, "Pay?", required_role="manager") else "kept"
"""
    file, store = written(tmp_path, source), str(tmp_path / "runs.db")
    waits = tactician("run", file, "Pay", "--store", store)
    run_id = tactician("ps", "--store", store, "--json")
    assert waits.code == 3, waits.err
    assert "--role manager" in waits.err
    (listed,) = json.loads(run_id.out)
    done = tactician("respond", listed["id"], "yes", file, "--store", store, *role)
    assert done.code == code, done.err


@pytest.mark.parametrize("role", ["", " "])
async def test_a_blank_role_is_a_mistake(role: str) -> None:
    @planned_agent(description="Asks")
    class Blank:
        @achieves_goal("paid")
        @action
        async def pay(self, _: UserInput) -> str:
            return str(await confirm(None, "Pay?", required_role=role))

    process = await Platform(ScriptedModel()).register(Blank()).start("Blank", "x")
    assert "required_role is blank" in (process.failure or "")
    with pytest.raises(DeclarationError, match="blank"):
        tool(needs_approval=True, required_role=role)


def test_a_role_without_an_approval_is_a_mistake() -> None:
    with pytest.raises(DeclarationError, match="write needs_approval=True, required_role='manager'"):
        tool(required_role="manager")


class TestOtherTools:
    def test_a_pipeline_needs_the_role_of_its_steps(self) -> None:
        @tool
        def look(text: str) -> int:
            """Look."""
            return len(text)

        made = pipeline(look, pay)
        assert isinstance(made, Pipeline)
        assert (made.traits.needs_approval, made.traits.required_role) == (True, "manager")

    def test_a_pipeline_is_not_approved_by_two_roles(self) -> None:
        @tool(needs_approval=True, required_role="editor")
        def write(text: str) -> int:
            """Write."""
            return len(text)

        with pytest.raises(DeclarationError, match=r"several roles \(editor, manager\)"):
            pipeline(write, pay)

    def test_a_built_in_tool_takes_a_role(self) -> None:
        made = write_file.within("notes").with_approval(required_role="editor")
        assert (made.traits.needs_approval, made.traits.required_role) == (True, "editor")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_caller_over_a2a_cannot_answer_for_a_role(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with create_platform(SqliteStore(path)) as platform, httpx.AsyncClient(timeout=10) as http:
        agent = platform.agents_by_id[kind]
        async with serve_a2a(platform, agent, settings=A2aSettings(poll=0.05, lets_callers_approve=True)) as url:
            client = JsonRpc(http, url)
            message = create_message("Pay", metadata={"skillId": kind})
            sent = {"message": message, "configuration": {"returnImmediately": True}}
            task_id = (await client.call("SendMessage", sent))["task"]["id"]

            async def is_waiting() -> bool:
                return (await platform.tree(task_id)).run.status == "waiting"

            await eventually(is_waiting)
            task = await client.call("GetTask", {"id": task_id})
            assert task["status"]["state"] == "TASK_STATE_WORKING"  # it asks nothing of the caller
            for text in ("yes", "5", json.dumps(find_answer(kind))):
                with pytest.raises(RefusedError, match="asks nothing"):
                    await client.call("SendMessage", {"message": create_message(text, taskId=task_id)})
        (request,) = (await platform.tree(task_id)).run.pending
        assert (request.required_role, request.is_answered) == ("manager", False)
