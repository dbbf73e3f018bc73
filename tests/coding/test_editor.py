"""The Agent Client Protocol, with the client of its official SDK and `tactician code acp` as the agent."""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from acp import PROTOCOL_VERSION, Client, spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.helpers import embedded_text_resource, image_block, resource_block, text_block
from acp.schema import AllowedOutcome, DeniedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate
from aiohttp import web
from typing_extensions import override

from tactician.coding.editor.permissions import Permissions
from tactician.coding.editor.updates import UpdateWriter
from tactician.runs import PendingRequest
from tests.coding.support import create_repository, run_git
from tests.support.chat_server import ChatServer, Received, Reply, call_piece, chunk, streams

FILES = {"shop.py": "def total(prices):\n    return sum(prices[1:])\n"}


EDIT = {"path": "shop.py", "old_text": "prices[1:]", "new_text": "prices"}
BACK = {"path": "shop.py", "old_text": "(prices)\n", "new_text": "(prices[1:])\n"}


def calls(arguments: dict[str, str]) -> Reply:
    piece = call_piece(0, json.dumps(arguments), "c1", "edit_file")
    return streams(chunk(tool_calls=[piece]), chunk("tool_calls"))


def says(text: str) -> Reply:
    return streams(*(chunk(content=piece) for piece in (text[:3], text[3:])), chunk("stop"))


class Editor:
    """An editor that keeps what it is shown, and answers questions in order; it cancels when it has no answer left."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: object) -> None:  # noqa: ANN401 - ten classes, of which a test knows which one
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: object
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        if not self.answers:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(option for option in options if option.kind == self.answers[0])
        self.answers.pop(0)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    def take(self, kind: str) -> list[Any]:
        """Return the updates of a kind so far, and forget all updates."""
        updates, self.updates = self.updates, []
        return [update for update in updates if update.session_update == kind]


@asynccontextmanager
async def connect(
    editor: Editor, server: ChatServer, folder: Path, *options: str, started: list[Process] | None = None
) -> AsyncIterator[ClientSideConnection]:
    env = {"TACTICIAN_MODEL": "openai:m", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-" + "x" * 30}
    env |= {"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(folder)}
    arguments = ("-m", "tactician", "code", "acp", *options)
    async with spawn_agent_process(cast(Client, editor), sys.executable, *arguments, env=env) as (agent, process):
        if started is not None:
            started.append(process)
        yield agent


async def test_an_editor_has_its_agent_ask_edit_cancel_and_go_on_later(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    store = ("--store", str(tmp_path / "runs.db"))
    editor = Editor("allow_once", "reject_once", "allow_always")
    mend, undo = calls(EDIT), calls(BACK)
    replies = [mend, says("Mended."), undo, says("Then not."), undo, says("Back."), mend, says("Again.")]
    async with ChatServer(*replies) as server, connect(editor, server, tmp_path, *store) as agent:
        started = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        assert started.protocol_version == PROTOCOL_VERSION
        assert started.agent_info is not None
        assert started.agent_capabilities is not None
        assert started.agent_capabilities.load_session
        assert started.agent_info.name == "tactician"
        session = await agent.new_session(cwd=str(repo), mcp_servers=[])
        assert session.modes is not None
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "edit", "read"]

        async def prompt(text: str) -> str:
            reply = await agent.prompt(session_id=session.session_id, prompt=[text_block(text)])
            return str(reply.stop_reason)

        assert await prompt("/fix The total is too low") == "end_turn"
        (commands,) = [u for u in editor.updates if u.session_update == "available_commands_update"]
        assert [command.name for command in commands.available_commands] == [
            *("fix", "implement", "refactor", "review", "test")
        ]
        (start,) = [u for u in editor.updates if u.session_update == "tool_call"]
        assert (start.kind, start.title) == ("edit", "edit file shop.py")
        assert (start.content[0].path, start.content[0].new_text) == (str(repo / "shop.py"), "prices")
        assert start.tool_call_id == editor.asked[0][0].tool_call_id, "the question is about the call that is shown"
        assert "".join(u.content.text for u in editor.take("agent_message_chunk")) == "Mended."
        assert "sum(prices)" in (repo / "shop.py").read_text()
        assert "Fix this bug" in json.dumps(server.bodies[0]["messages"])

        assert await prompt("Undo it") == "end_turn"
        assert "sum(prices)" in (repo / "shop.py").read_text(), "it was rejected"
        assert await prompt("Do undo it") == "end_turn"
        assert await prompt("And again") == "end_turn"
        assert len(editor.asked) == 3, "the last was allowed for the rest of the session"
        assert "sum(prices)" in (repo / "shop.py").read_text()
        assert run_git(repo, "branch", "--list") == "* main"
    later = ChatServer(undo)
    async with later, connect(editor, later, tmp_path, *store) as agent:
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        editor.updates.clear()
        await agent.load_session(cwd=str(repo), session_id=session.session_id, mcp_servers=[])
        users = [u.content.text for u in editor.updates if u.session_update == "user_message_chunk"]
        assert users[1:] == ["Undo it", "Do undo it", "And again"]
        assert "Mended." in [u.content.text for u in editor.take("agent_message_chunk")]
        reply = await agent.prompt(session_id=session.session_id, prompt=[text_block("Undo")])
        assert reply.stop_reason == "cancelled", "a question that is cancelled ends the turn"
        with pytest.raises(RequestError, match="no-such"):
            await agent.load_session(cwd=str(repo), session_id="no-such", mcp_servers=[])


async def test_modes_cancellation_and_bad_requests(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    editor = Editor()
    async with (
        ChatServer(calls(EDIT), says("Mended."), says("It is fine.")) as server,
        connect(editor, server, tmp_path) as agent,
    ):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        with pytest.raises(RequestError, match="not the whole path of a folder"):
            await agent.new_session(cwd="repo", mcp_servers=[])
        session_id = (await agent.new_session(cwd=str(repo), mcp_servers=[])).session_id
        with pytest.raises(RequestError, match=r"no mode 'rea'\. There are: ask, edit, read"):
            await agent.set_session_mode(session_id=session_id, mode_id="rea")
        with pytest.raises(RequestError, match="no open session"):
            await agent.prompt(session_id="other", prompt=[text_block("Hi")])
        for text, problem in (("/fix", "needs some words"), (" ", "prompt is empty")):
            with pytest.raises(RequestError, match=problem):
                await agent.prompt(session_id=session_id, prompt=[text_block(text)])
        with pytest.raises(RequestError, match=r"picture|image"):
            await agent.prompt(session_id=session_id, prompt=[text_block("See"), image_block("no", "image/png")])

        await agent.set_session_mode(session_id=session_id, mode_id="edit")
        shared = resource_block(embedded_text_resource("file:///shop.md", "The shop sells tea."))
        await agent.prompt(session_id=session_id, prompt=[text_block("Mend it"), shared])
        assert not editor.asked
        assert "sum(prices)" in (repo / "shop.py").read_text()
        assert "The shop sells tea." in json.dumps(server.bodies[0]["messages"])
        await agent.set_session_mode(session_id=session_id, mode_id="read")
        await agent.prompt(session_id=session_id, prompt=[text_block("/review shop.py")])
        offered = {tool["function"]["name"] for tool in cast("list[dict[str, Any]]", server.bodies[-1]["tools"])}
        assert "read_file" in offered
        assert not offered & {"edit_file", "write_file", "shell"}


async def test_a_prompt_is_cancelled_while_the_model_thinks(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    editor = Editor()
    asked = asyncio.Event()

    async def never(request: web.Request, received: Received) -> web.StreamResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with ChatServer(never) as server, connect(editor, server, tmp_path) as agent:
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session_id = (await agent.new_session(cwd=str(repo), mcp_servers=[])).session_id
        reply = asyncio.create_task(agent.prompt(session_id=session_id, prompt=[text_block("Think")]))
        await asked.wait()
        with pytest.raises(RequestError, match="still answers"):
            await agent.prompt(session_id=session_id, prompt=[text_block("More")])
        await agent.cancel(session_id=session_id)
        assert (await reply).stop_reason == "cancelled"


async def test_a_question_that_is_left_open_ends_with_the_prompt(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    asked = asyncio.Event()

    class Silent(Editor):
        """An editor whose user looks at the question, and cancels the prompt."""

        @override
        async def request_permission(
            self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: object
        ) -> RequestPermissionResponse:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    store = ("--store", str(tmp_path / "runs.db"))
    async with ChatServer(calls(EDIT), says("Then not."), calls(EDIT), says("Well.")) as server:
        processes: list[Process] = []
        async with connect(Silent(), server, tmp_path, *store, started=processes) as agent:
            await agent.initialize(protocol_version=PROTOCOL_VERSION)
            session_id = (await agent.new_session(cwd=str(repo), mcp_servers=[])).session_id
            reply = asyncio.create_task(agent.prompt(session_id=session_id, prompt=[text_block("Mend it")]))
            await asked.wait()
            await agent.cancel(session_id=session_id)
            assert (await reply).stop_reason == "cancelled"
            after = await agent.prompt(session_id=session_id, prompt=[text_block("Leave it")])
            assert after.stop_reason == "end_turn"
            asked.clear()
            left = asyncio.create_task(agent.prompt(session_id=session_id, prompt=[text_block("Mend it")]))
            await asked.wait()
            (process,) = processes
            process.kill()
        with pytest.raises(ConnectionError):
            await left
        async with connect(Editor(), server, tmp_path, *store) as agent:
            await agent.initialize(protocol_version=PROTOCOL_VERSION)
            await agent.load_session(cwd=str(repo), session_id=session_id, mcp_servers=[])
            after = await agent.prompt(session_id=session_id, prompt=[text_block("Go on")])
            assert after.stop_reason == "end_turn"


async def test_a_request_for_a_role_is_not_answered_in_an_editor() -> None:
    async def ask(call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
        raise AssertionError("nobody is asked")

    permissions = Permissions(ask, UpdateWriter(Path("/shop")))
    request = PendingRequest("1", "approval", "May it be paid?", required_role="manager")
    answer = await permissions.answer(request)
    assert answer is not None
    assert (answer.granted, "manager" in answer.reason) == (False, True)
