"""Task of a remote agent: it is sent, followed, answered, and cancelled with the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Final, cast
from uuid import NAMESPACE_URL, uuid5

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
from tactician.clock import Timeout
from tactician.errors import TransientError
from tactician.grammar import format_count
from tactician.llm import Text, Usage
from tactician.loop import TextReceived
from tactician.runs import Input, RunContext, RunResult, RunStatus, RunStore, Suspended, decode_value, encode_value
from tactician.text import escape_controls
from tactician.tools import as_text

_CANCEL_SECONDS: Final = 5.0
_FIRST_POLL: Final = 0.2
_LONGEST_POLL: Final = 5.0
_BROKEN: Final = (httpx.HTTPError, httpx.StreamError, A2AClientError, ParseError, OSError)


class RemoteTask:
    """Task of a remote agent, as a run sees it.

    The checkpoint of the run has the ids of the task, the open question, and the result: a program that resumes the run
    continues the same task. A message is sent again with the same idempotency key.
    """

    def __init__(self, remote: str, settings: RemoteSettings, card: AgentCard, context: RunContext) -> None:
        assert context.checkpoint is not None
        self._remote = remote
        self._settings = settings
        self._card = card
        self._context = context
        self._checkpoint = context.checkpoint
        self._view = RemoteTaskView(settings.max_bytes, self._get_text("task"), self._get_text("conversation"))
        self._noted: tuple[str, str] | None = None

    async def run(self, input: Input) -> RunResult[object]:
        """Send the task, or continue with what is known of it, until it ends or asks for input.

        Raises:
            Suspended: when it asks.
            RemoteTaskError: when it fails, or takes too long.
            RemoteUnavailableError: when the agent cannot be reached.
        """
        if (result := self._checkpoint.data.get("result")) is not None:
            return self._create_result(get_value(_restore_parts(cast("JsonValue", result))))
        message = self._answer_question() or (None if self._view.task_id else self._create_message(input))
        try:
            async with open_client(self._settings, self._card) as client:
                return await self._follow_in_time(client, message)
        except asyncio.CancelledError:
            await self._cancel_unless_resumed()
            raise
        except httpx.HTTPError as error:
            raise self._describe_break(error) from error

    def _answer_question(self) -> Message | None:
        """Return the message with the answer to the question that the run has asked; `None` when it asks nothing.

        Raises:
            Suspended: when there is no answer.
        """
        if not isinstance(saved := self._checkpoint.data.get("question"), dict):
            return None
        question, request_id = RemoteQuestion.from_json(saved), self._request_id
        if (saved_answer := self._checkpoint.data.get("answer")) is None:
            if request_id not in self._context.responses:
                raise Suspended(question.to_request(request_id, self._context.path))
            saved_answer = encode_value(create_answer(self._context.responses[request_id]), tuple[A2aPart, ...])
            self._checkpoint.set(answer=saved_answer)
        answer = _restore_parts(cast("JsonValue", saved_answer))
        metadata = {} if question.request_id is None else {REQUEST_ID: question.request_id}
        return self._create_wire(answer, metadata, f"answer-{self._count_questions()}")

    def _create_message(self, input: Input) -> Message:
        metadata: dict[str, JsonValue] = dict(input.metadata) if isinstance(input, A2aMessage) else {}
        if self._settings.skill is not None:
            metadata[SKILL_ID] = self._settings.skill
        return self._create_wire(create_parts(input), metadata, "task")

    def _create_wire(self, parts: tuple[A2aPart, ...], metadata: Mapping[str, JsonValue], key: str) -> Message:
        message_id = str(uuid5(NAMESPACE_URL, f"{self._context.idempotency_key}/{key}"))
        message = A2aMessage(
            parts=parts,
            message_id=message_id,
            context_id=self._view.context_id,
            metadata={**metadata, IDEMPOTENCY_KEY: message_id},
        )
        return to_wire_message(message, Role.ROLE_USER, task_id=self._view.task_id)

    async def _follow_in_time(self, client: Client, message: Message | None) -> RunResult[object]:
        try:
            with Timeout(self._settings.timeout, self._context.clock):
                return await self._follow(client, message)
        except TimeoutError:
            await self._cancel(client)
            raise self._fail(
                f"has not ended after {format_count(self._settings.timeout, 'second')}, and was cancelled"
            ) from None

    async def _follow(self, client: Client, message: Message | None) -> RunResult[object]:
        """Follow the task by streams, and by polls between them, until it ends or asks."""
        pause = _FIRST_POLL
        while True:
            try:
                async with aclosing(self._open_stream(client, message)) as events:
                    async for event in events:
                        await self._take(event)
            except TaskNotFoundError:
                raise self._fail("no longer exists at the agent") from None
            except UnsupportedOperationError:  # it has ended, or there are no streams
                await self._look_up(client)
            except A2AClientError as error:
                await self._look_up_after(client, error)
            except A2AError as error:
                raise self._fail(f"was refused: {error}") from error
            except _BROKEN as error:
                await self._look_up_after(client, error)
            if not self._rests():
                message = None
                await self._context.clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_POLL)
                await self._look_up(client)
            if self._rests():
                return await self._conclude()

    def _rests(self) -> bool:
        """Return whether the task has ended, or asks."""
        return self._view.has_ended or self._view.is_interrupted

    async def _open_stream(self, client: Client, message: Message | None) -> AsyncGenerator[StreamResponse]:
        if message is not None:
            at_once = SendMessageConfiguration(return_immediately=not self._card.capabilities.streaming)
            async for event in client.send_message(SendMessageRequest(message=message, configuration=at_once)):
                yield event
        elif self._card.capabilities.streaming:
            async for event in client.subscribe(SubscribeToTaskRequest(id=self._view.task_id)):
                yield event
                if self._view.is_interrupted:
                    return

    async def _take(self, event: StreamResponse) -> None:
        for text in self._view.take(event):
            if self._context.streaming:
                self._context.emit(TextReceived, text=text, answer_level=self._context.piece_level)
        await self._note()

    async def _note(self) -> None:
        """Save the ids of the task once they are known, and tell each new state."""
        view = self._view
        if view.task_id and view.task_id != self._checkpoint.data.get("task"):
            self._checkpoint.set(task=view.task_id, conversation=view.context_id)
            await self._context.save_step("remote task", self._remote, view.task_id)
        if view.task_id and self._noted != (noted := (view.task_id, view.state)):
            self._noted = noted
            self._context.emit(RemoteTaskChanged, remote=self._remote, task_id=view.task_id, state=view.state)

    async def _look_up(self, client: Client) -> None:
        """Look the task up; a failure of the connection is no news."""
        if not self._view.task_id:
            return
        with suppress(*_BROKEN):
            self._view.replace(await client.get_task(GetTaskRequest(id=self._view.task_id)))
            await self._note()

    async def _look_up_after(self, client: Client, error: Exception) -> None:
        """Look the task up after a connection broke.

        Raises:
            RemoteUnavailableError: when the connection broke before the task had an id.
        """
        if not self._view.task_id:
            raise self._describe_break(error) from error
        await self._look_up(client)

    async def _conclude(self) -> RunResult[object]:
        """Return the result, or save what is asked.

        Raises:
            Suspended: when the task asks for input.
            RemoteTaskError: when it failed.
        """
        view = self._view
        if view.is_interrupted:
            question = read_question(view.message, self._remote)
            self._checkpoint.set(question=question.to_json(), questions=self._count_questions() + 1, answer=None)
            raise Suspended(question.to_request(self._request_id, self._context.path))
        if not view.is_completed:
            reason = "; ".join(part.text for part in view.message if isinstance(part, Text))
            raise self._fail(f"{complete_state(view.state)}{f': {reason}' if reason else ''}")
        parts = view.result
        self._checkpoint.set(result=encode_value(parts, tuple[A2aPart, ...]), question=None)
        self._context.tally.add(Usage(requests=1, model=f"a2a:{self._remote}"))
        await self._context.save_step("remote answer", self._remote, as_text(get_value(parts)))
        return self._create_result(get_value(parts))

    async def _cancel_unless_resumed(self) -> None:
        """Cancel the task, unless the run is saved and will be resumed."""
        if self._context.is_saved:
            record = await RunStore(self._context.store).load_readable(self._context.root_id)
            if record is not None and record.status is not RunStatus.KILLED:
                return
        async with open_client(self._settings, self._card) as client:
            await self._cancel(client)

    async def _cancel(self, client: Client) -> None:
        if not self._view.task_id:
            return
        with suppress(TimeoutError, A2AError, *_BROKEN), Timeout(_CANCEL_SECONDS, self._context.clock):
            await client.cancel_task(CancelTaskRequest(id=self._view.task_id))

    def _create_result(self, output: object) -> RunResult[object]:
        return RunResult(output, tally=self._context.tally, run_id=self._context.run_id)

    def _fail(self, problem: str) -> RemoteTaskError:
        result = RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)
        task = f"the task {self._view.task_id}" if self._view.task_id else "the task"
        text = f"{self._remote} ({self._settings.url}): {task} {problem}"
        return RemoteTaskError(escape_controls(text), result)

    def _describe_break(self, error: Exception) -> TransientError:
        reason = escape_controls(str(error)) or type(error).__name__
        return RemoteUnavailableError(f"{self._remote} ({self._settings.url}) cannot be reached: {reason}")

    @property
    def _request_id(self) -> str:
        return f"{self._checkpoint.path}/{self._count_questions()}"

    def _count_questions(self) -> int:
        count = self._checkpoint.data.get("questions", 0)
        return count if isinstance(count, int) else 0

    def _get_text(self, key: str) -> str:
        return str(self._checkpoint.data.get(key) or "")


def _restore_parts(saved: JsonValue) -> tuple[A2aPart, ...]:
    return cast("tuple[A2aPart, ...]", decode_value(saved, tuple[A2aPart, ...]))
