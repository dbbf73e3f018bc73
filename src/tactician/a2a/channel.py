"""Channel of A2A: a task of a remote agent is sent and followed by streams, and by polls between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, cast

import httpx
from a2a.client import A2AClientError, Client
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import A2AError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import ParseError
from pydantic import JsonValue

from tactician.a2a.connection import open_client
from tactician.a2a.errors import RemoteTaskError, RemoteUnavailableError
from tactician.a2a.events import RemoteTaskChanged, complete_state
from tactician.a2a.messages import A2aMessage, A2aPart, create_parts, get_value
from tactician.a2a.questions import (
    IDEMPOTENCY_KEY,
    REQUEST_ID,
    SKILL_ID,
    RemoteQuestion,
    create_answer,
    read_question,
)
from tactician.a2a.settings import RemoteSettings
from tactician.a2a.task_view import RemoteTaskView
from tactician.a2a.wire import to_wire_message
from tactician.agents.remote import RemoteMessage, RemoteOutput, RemoteTask, RemoteWait
from tactician.llm import Text, Usage
from tactician.runs import PendingRequest, RunContext, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.values.stored_values import decode_value, encode_value
from tactician.text import escape_controls

_FIRST_POLL: Final = 0.2
_LONGEST_POLL: Final = 5.0
_BROKEN: Final = (httpx.HTTPError, httpx.StreamError, A2AClientError, ParseError, OSError)


class A2aChannel:
    """Channel of a task of a remote agent.

    Args:
        name: name of the agent.
        settings: address of the card, and the options.
        card: card of the agent.
        context: context of the run, whose checkpoint has the ids of the task.
    """

    def __init__(self, name: str, settings: RemoteSettings, card: AgentCard, context: RunContext) -> None:
        data: Mapping[str, object] = {} if context.checkpoint is None else context.checkpoint.data
        self._name = name
        self._settings = settings
        self._card = card
        self._view = RemoteTaskView(
            settings.max_bytes, str(data.get("task") or ""), str(data.get("conversation") or "")
        )
        self._noted: tuple[str, str] | None = None
        self._client: Client | None = None

    @property
    def address(self) -> str:
        """Address of the card."""
        return self._settings.url

    @property
    def timeout(self) -> float | None:
        """Seconds that the task may take."""
        return self._settings.timeout

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connect to the agent.

        Raises:
            RemoteUnavailableError: when the connection breaks.
        """
        try:
            async with open_client(self._settings, self._card) as client:
                self._client = client
                yield
        except httpx.HTTPError as error:
            raise self._describe_break(error) from error

    async def follow(self, message: RemoteMessage | None, task: RemoteTask) -> RemoteOutput | RemoteWait:
        """Send a message, and follow the task by streams, and by polls between them, until it ends or asks."""
        wire, pause = None if message is None else self._create_wire(message), _FIRST_POLL
        while True:
            try:
                async with aclosing(self._open_stream(wire)) as events:
                    async for event in events:
                        await self._take(event, task)
            except TaskNotFoundError:
                raise task.fail("no longer exists at the agent") from None
            except UnsupportedOperationError:  # it has ended, or there are no streams
                await self._look_up(task)
            except A2AClientError as error:
                await self._look_up_after(error, task)
            except A2AError as error:
                raise task.fail(f"was refused: {error}") from error
            except _BROKEN as error:
                await self._look_up_after(error, task)
            if not self._rests():
                wire = None
                await task.context.clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_POLL)
                await self._look_up(task)
            if self._rests():
                return self._conclude(task)

    async def cancel(self, task: RemoteTask) -> None:
        """Cancel the task, if it has an id."""
        if self._view.task_id:
            with suppress(A2AError, *_BROKEN):
                await self._connected.cancel_task(CancelTaskRequest(id=self._view.task_id))

    def create_request(self, question: JsonValue, request_id: str, path: tuple[str, ...]) -> PendingRequest:
        """Return a question of the agent as a request of the run."""
        return _read(question).to_request(request_id, path)

    def encode_answer(self, response: Response) -> JsonValue:
        """Return a response as the parts of a message."""
        return encode_value(create_answer(response), tuple[A2aPart, ...])

    async def read_reply(self, question: JsonValue, answer: JsonValue, task: RemoteTask) -> RemoteOutput | None:
        """Return `None`: each answer is sent to the agent."""
        return None

    async def restore_output(self, saved: JsonValue) -> object:
        """Return the result of a task that was saved."""
        return get_value(_restore_parts(saved))

    def create_error(self, message: str, result: RunResult[None]) -> RemoteTaskError:
        """Return the error of a task that has failed."""
        return RemoteTaskError(message, result)

    @property
    def _connected(self) -> Client:
        assert self._client is not None, "open the channel first"
        return self._client

    def _create_wire(self, message: RemoteMessage) -> Message:
        if message.question is None:
            parts, metadata = create_parts(message.input), self._list_metadata(message)
        else:
            question = _read(message.question)
            parts = _restore_parts(message.answer)
            metadata = {} if question.request_id is None else {REQUEST_ID: question.request_id}
        sent = A2aMessage(
            parts=parts,
            message_id=message.id,
            context_id=self._view.context_id,
            metadata={**metadata, IDEMPOTENCY_KEY: message.id},
        )
        return to_wire_message(sent, Role.ROLE_USER, task_id=self._view.task_id)

    def _list_metadata(self, message: RemoteMessage) -> dict[str, JsonValue]:
        metadata = dict(message.input.metadata) if isinstance(message.input, A2aMessage) else {}
        return metadata if self._settings.skill is None else {**metadata, SKILL_ID: self._settings.skill}

    def _rests(self) -> bool:
        """Return whether the task has ended, or asks."""
        return self._view.has_ended or self._view.is_interrupted

    async def _open_stream(self, message: Message | None) -> AsyncGenerator[StreamResponse]:
        client, streams = self._connected, self._card.capabilities.streaming
        if message is not None:
            at_once = SendMessageConfiguration(return_immediately=not streams)
            async for event in client.send_message(SendMessageRequest(message=message, configuration=at_once)):
                yield event
        elif streams:
            async for event in client.subscribe(SubscribeToTaskRequest(id=self._view.task_id)):
                yield event
                if self._view.is_interrupted:
                    return

    async def _take(self, event: StreamResponse, task: RemoteTask) -> None:
        for text in self._view.take(event):
            task.receive_text(text)
        await self._note(task)

    async def _note(self, task: RemoteTask) -> None:
        """Save the ids of the task once they are known, and tell each new state."""
        view = self._view
        if not view.task_id:
            return
        await task.save_id(view.task_id, conversation=view.context_id)
        if self._noted != (noted := (view.task_id, view.state)):
            self._noted = noted
            task.context.emit(RemoteTaskChanged, remote=self._name, task_id=view.task_id, state=view.state)

    async def _look_up(self, task: RemoteTask) -> None:
        """Look the task up; a failure of the connection is no news."""
        if not self._view.task_id:
            return
        with suppress(*_BROKEN):
            self._view.replace(await self._connected.get_task(GetTaskRequest(id=self._view.task_id)))
            await self._note(task)

    async def _look_up_after(self, error: Exception, task: RemoteTask) -> None:
        """Look the task up after a connection broke.

        Raises:
            RemoteUnavailableError: when the connection broke before the task had an id.
        """
        if not self._view.task_id:
            raise self._describe_break(error) from error
        await self._look_up(task)

    def _conclude(self, task: RemoteTask) -> RemoteOutput | RemoteWait:
        """Return the result of a task, or what it asks.

        Raises:
            RemoteTaskError: when it failed.
        """
        view = self._view
        if view.is_interrupted:
            return RemoteWait(read_question(view.message, self._name).to_json())
        if not view.is_completed:
            reason = "; ".join(part.text for part in view.message if isinstance(part, Text))
            raise task.fail(f"{complete_state(view.state)}{f': {reason}' if reason else ''}")
        saved = encode_value(view.result, tuple[A2aPart, ...])
        return RemoteOutput(get_value(view.result), saved, (Usage(requests=1, model=f"a2a:{self._name}"),))

    def _describe_break(self, error: Exception) -> RemoteUnavailableError:
        reason = escape_controls(str(error)) or type(error).__name__
        return RemoteUnavailableError(f"{self._name} ({self._settings.url}) cannot be reached: {reason}")


def _read(question: JsonValue) -> RemoteQuestion:
    return RemoteQuestion.from_json(question if isinstance(question, dict) else {})


def _restore_parts(saved: JsonValue) -> tuple[A2aPart, ...]:
    return cast("tuple[A2aPart, ...]", decode_value(saved, tuple[A2aPart, ...]))
