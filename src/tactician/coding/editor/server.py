"""`EditorAgent`: coding agents that an editor starts, and talks with over standard input and output.

Source: Agent Client Protocol, version 1 (https://agentclientprotocol.com).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from acp import PROTOCOL_VERSION, Client, run_agent
from acp.exceptions import RequestError
from acp.helpers import update_available_commands, update_current_mode
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    AuthenticateResponse,
    ClientCapabilities,
    CloseSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SetSessionModeResponse,
    SseMcpServer,
)
from typing_extensions import Unpack

from tactician.agents.spec import AgentSettings
from tactician.coding.editor.prompts import PromptBlock, list_commands, read_prompt
from tactician.coding.editor.session import EditorSession
from tactician.errors import TacticianError
from tactician.events.event import new_id
from tactician.extras import require_extra
from tactician.platform import Platform
from tactician.secrets import mask_secrets
from tactician.tools.toolbox import ToolLike

EditorServer: TypeAlias = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
_FAILED = -32603
_REFUSED = -32602


class EditorAgent:
    """Coding agent of an editor, with a session for each conversation.

    Args:
        platform: the platform, whose store keeps the conversations.
        settings: settings of the agents of all sessions.
    """

    def __init__(self, platform: Platform, **settings: Unpack[AgentSettings]) -> None:
        self._platform = platform
        self._settings = settings
        self._sessions: dict[str, EditorSession] = {}
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Keep the connection to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: object,
    ) -> InitializeResponse:
        """Return what the agent can do, in the version of the protocol that both have."""
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
            ),
            agent_info=Implementation(name="tactician", title="Tactician", version=version("tactician")),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: object) -> AuthenticateResponse:
        """Accept the editor: the agent has its keys from the environment."""
        return AuthenticateResponse()

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[EditorServer] | None = None, **_: object
    ) -> NewSessionResponse:
        """Begin a session in a folder.

        Raises:
            RequestError: when there is no such folder, or a server cannot be used.
        """
        session = self._open(new_id(), cwd, mcp_servers or ())
        await self._offer_commands(session)
        return NewSessionResponse(session_id=session.id, modes=session.modes)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[EditorServer] | None = None, **_: object
    ) -> LoadSessionResponse:
        """Go on with a session, and show its conversation.

        Raises:
            RequestError: when there is no such session or folder.
        """
        if (old := self._sessions.pop(session_id, None)) is not None:
            old.close()
        session = self._open(session_id, cwd, mcp_servers or ())
        try:
            await session.replay()
        except (TacticianError, ValueError) as error:
            session.close()
            del self._sessions[session_id]
            raise RequestError(_REFUSED, mask_secrets(str(error))) from error
        await self._offer_commands(session)
        return LoadSessionResponse(modes=session.modes)

    async def close_session(self, session_id: str, **_: object) -> CloseSessionResponse:
        """End what runs in a session. Its conversation can be loaded again."""
        self._find(session_id).close()
        del self._sessions[session_id]
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: object) -> SetSessionModeResponse:
        """Change what the agent may do.

        Raises:
            RequestError: when there is no such mode.
        """
        session = self._find(session_id)
        try:
            session.change_mode(mode_id)
        except ValueError as error:
            raise RequestError(_REFUSED, str(error)) from None
        await self._get_client().session_update(session_id, update_current_mode(mode_id))
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[PromptBlock], **_: object) -> PromptResponse:
        """Let the agent answer a prompt.

        Raises:
            RequestError: when the prompt cannot be read, or the run fails.
        """
        session = self._find(session_id)
        message = read_prompt(prompt)
        try:
            return PromptResponse(stop_reason=await session.prompt(message))
        except (TacticianError, RuntimeError) as error:
            raise RequestError(_FAILED, mask_secrets(str(error))) from error

    async def cancel(self, session_id: str, **_: object) -> None:
        """End the answer to the present prompt."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def ext_method(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Refuse a method that the protocol does not have."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, object]) -> None:
        """Pass over a notification that the protocol does not have."""

    def _open(self, session_id: str, cwd: str, servers: Sequence[EditorServer]) -> EditorSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise RequestError(_REFUSED, f"{cwd!r} is not the whole path of a folder.")
        settings: AgentSettings = {**self._settings, "tools": (*self._settings.get("tools", ()), *_read_tools(servers))}
        session = EditorSession(session_id, folder, self._platform, self._get_client(), settings)
        self._sessions[session_id] = session
        return session

    def _find(self, session_id: str) -> EditorSession:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(_REFUSED, f"There is no open session {session_id!r}: load it, or begin another.")
        return session

    async def _offer_commands(self, session: EditorSession) -> None:
        await self._get_client().session_update(session.id, update_available_commands(list_commands()))

    def _get_client(self) -> Client:
        assert self._client is not None, "a connection calls on_connect before any method"
        return self._client

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """End all sessions after the `async with` block."""
        try:
            yield
        finally:
            for session in self._sessions.values():
                session.close()
            self._sessions.clear()


def _read_tools(servers: Sequence[EditorServer]) -> Sequence[ToolLike]:
    """Return the MCP servers of an editor as tools."""
    if not servers:
        return ()
    with require_extra("mcp", "An MCP server of the editor needs"):
        from tactician.coding.editor.servers import read_server
    return [read_server(server) for server in servers]


async def serve_editor(platform: Platform, **settings: Unpack[AgentSettings]) -> None:
    """Serve the editor at standard input and output until it leaves.

    Args:
        platform: the platform, whose store keeps the conversations.
        **settings: settings of the agents of all sessions.
    """
    agent = EditorAgent(platform, **settings)
    async with agent.running():
        await run_agent(agent)  # type: ignore[arg-type]
