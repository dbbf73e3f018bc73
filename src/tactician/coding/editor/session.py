"""Session of an editor: a folder, a conversation, and the coding agent that answers in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp import Client
from acp.schema import (
    PermissionOption,
    RequestPermissionResponse,
    SessionMode,
    SessionModeState,
    StopReason,
    ToolCallUpdate,
)

from tactician.agents.spec import AgentSettings
from tactician.cancellation import run_to_completion
from tactician.coding.agent import CodingAgent
from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.editor.permissions import Permissions
from tactician.coding.editor.updates import UpdateWriter
from tactician.coding.workspaces.workspace import Workspace
from tactician.guardrails import GuardrailError
from tactician.llm import UserMessage
from tactician.platform import Platform
from tactician.platform.conversations.request import RequestOptions, create_request
from tactician.runs import PendingRequest, RunCompleted, RunContext, RunResult, TurnLimitError
from tactician.runs.outcomes.suspension import Response
from tactician.runs.runnable import stream_events

ModeId: TypeAlias = Literal["ask", "edit", "read"]
_MODES: Final = [
    SessionMode(id="ask", name="Ask", description="Asks before each change of a file"),
    SessionMode(id="edit", name="Edit", description="Changes files without asking"),
    SessionMode(id="read", name="Read", description="Reads and reviews, and changes nothing"),
]


class EditorSession:
    """Session of an editor.

    Args:
        id: id of the session, and of its conversation.
        folder: the folder that is open in the editor.
        platform: the platform, whose store keeps the conversation.
        client: the editor.
        settings: settings of the agent, with the MCP servers of the editor among its tools.
    """

    def __init__(
        self,
        id: str,
        folder: Path,
        platform: Platform,
        client: Client,
        settings: AgentSettings,
    ) -> None:
        self.id = id
        self._folder = folder
        self._platform = platform
        self._client = client
        self._settings = settings
        self._updates = UpdateWriter(folder)
        self._permissions = Permissions(self._ask, self._updates)
        self._agents: dict[str, CodingAgent] = {}
        self._mode: str = "ask"
        self._work: asyncio.Task[StopReason] | None = None

    @property
    def modes(self) -> SessionModeState:
        """The mode of the session, and all modes that there are."""
        return SessionModeState(current_mode_id=self._mode, available_modes=_MODES)

    def change_mode(self, mode: str) -> None:
        """Change what the agent may do, from the next prompt on.

        Raises:
            ValueError: when there is no such mode.
        """
        if mode not in (names := [each.id for each in _MODES]):
            raise ValueError(f"There is no mode {mode!r}. There are: {', '.join(names)}.")
        self._mode = mode

    async def prompt(self, message: UserMessage) -> StopReason:
        """Let the agent answer a message, and return why it stopped.

        Raises:
            TacticianError: when the run fails.
            RuntimeError: while another prompt is answered.
        """
        if self._work is not None:
            raise RuntimeError("The agent still answers the prompt before this. Cancel it first.")
        self._work = asyncio.create_task(self._answer(message))
        try:
            return await self._work
        except asyncio.CancelledError:
            if (running := asyncio.current_task()) is not None and running.cancelling():
                self._work.cancel()
                raise
            return "cancelled"
        except TurnLimitError:
            return "max_turn_requests"
        except GuardrailError as error:
            await self._client.session_update(self.id, self._updates.write_text(str(error)))
            return "refusal"
        finally:
            self._work = None

    def cancel(self) -> None:
        """End the answer to the present prompt, if any."""
        if self._work is not None:
            self._work.cancel()

    async def replay(self) -> None:
        """Show the conversation to the editor. A question that a killed program has left in it is given up.

        Raises:
            ConversationNotFoundError: when no conversation has the id of the session.
        """
        async with self._platform.conversations.look(self.id) as conversation:
            messages, part = list(conversation.messages), conversation.part
        if part is not None:
            await self._platform.requests.give_up(part.run_id, self._platform.context())
        for message in messages:
            for update in self._updates.replay(message):
                await self._client.session_update(self.id, update)

    async def _answer(self, message: UserMessage) -> StopReason:
        self._updates.begin()
        agent, requests = self._find_agent(), self._platform.requests
        request = create_request(agent.name, message, RequestOptions(conversation_id=self.id))
        result = await self._show(lambda context: requests.answer(request, agent, context))
        while result.pending:
            answers: Mapping[str, Response] | None = None
            try:
                answers = await self._ask_all(result.pending)
            finally:
                if answers is None:  # a run that still waits would keep the conversation from its next prompt
                    await run_to_completion(requests.give_up(result.run_id, self._platform.context()))
            if answers is None:
                return "cancelled"
            result = await self._show(partial(self._resume, result.run_id, answers))
        return "end_turn"

    async def _ask_all(self, pending: Iterable[PendingRequest]) -> Mapping[str, Response] | None:
        """Return the answers of the user to requests of the agent; `None` when the user cancels instead."""
        answers: dict[str, Response] = {}
        for request in pending:
            if (answer := await self._permissions.answer(request)) is None:
                return None
            answers[request.id] = answer
        return answers

    async def _resume(self, run_id: str, answers: Mapping[str, Response], context: RunContext) -> RunResult[object]:
        return await self._platform.requests.resume(run_id, answers, context=context)

    async def _show(self, run: Callable[[RunContext], Awaitable[RunResult[object]]]) -> RunResult[object]:
        """Show a run, or the rest of it, to the editor, and return its result."""
        async with aclosing(stream_events(run, self._platform.context())) as events:
            async for event in events:
                for update in self._updates.write(event):
                    await self._client.session_update(self.id, update)
                if isinstance(event, RunCompleted):
                    return event.result
        raise AssertionError("the last event of a run is its completion")

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
        return await self._client.request_permission(self.id, call, options)

    def _find_agent(self) -> CodingAgent:
        """Return the agent of the present mode, registered so that its runs can continue."""
        if (agent := self._agents.get(self._mode)) is None:
            agent = self._agents[self._mode] = self._create_agent()
            self._platform.register(agent)
        return agent

    def _create_agent(self) -> CodingAgent:
        is_read = self._mode == "read"
        workspace = Workspace.read_only(self._folder) if is_read else Workspace.in_place(self._folder)
        return CodingAgent(
            f"editor-{self.id}-{self._mode}",
            workspace=workspace,
            commands=CommandPolicy(mode="never" if is_read else "sandbox"),
            require_approval=self._mode == "ask",
            **self._settings,
        )

    def close(self) -> None:
        """End the present answer, and forget the agents of the session."""
        self.cancel()
        for agent in self._agents.values():
            self._platform.unregister(agent.name)
        self._agents.clear()
