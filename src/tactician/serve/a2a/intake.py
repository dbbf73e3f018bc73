"""Messages that start tasks, or answer tasks that ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from a2a.types import Message, Task
from a2a.utils.errors import InvalidParamsError, UnsupportedOperationError
from google.protobuf.json_format import ParseDict

from tactician.a2a import A2aMessage
from tactician.a2a.questions import IDEMPOTENCY_KEY, SKILL_ID
from tactician.a2a.wire import JsonObject, from_wire_message, to_json_object
from tactician.errors import ResponseError, RunConflictError, StoredStateError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.runs import ChatUser, RunStatus
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.secrets import mask_secrets
from tactician.serve.a2a.answers import list_questions, read_answer
from tactician.serve.a2a.executor import TaskExecutor
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.skills import PublishedSkill, find_skill
from tactician.serve.a2a.task_documents import TaskDocument, TaskDocuments
from tactician.serve.a2a.task_run import TASK_RUNS
from tactician.serve.a2a.task_states import TaskViews

_MOST_MESSAGES: Final = 500
_MOST_CHARACTERS: Final = 1000
_MOST_EARLIER: Final = 20
"""Tasks of a conversation whose messages the next task gets."""


@frozen
class AcceptedMessage:
    """Message that was accepted: the document of its task, and the function that lets the task run."""

    document: TaskDocument
    begin: Callable[[], Awaitable[object]]


class TaskIntake:
    """Intake of messages.

    A message with an `idempotencyKey` in its metadata is taken once: sent again, it finds the task as it is.

    Args:
        executor: executor of tasks.
        documents: documents of tasks.
        views: views of tasks.
        settings: settings of the server.
    """

    def __init__(
        self,
        executor: TaskExecutor,
        documents: TaskDocuments,
        views: TaskViews,
        settings: A2aSettings,
    ) -> None:
        self._executor = executor
        self._documents = documents
        self._views = views
        self._settings = settings

    async def start(self, message: Message, owner: str, skills: Mapping[str, PublishedSkill]) -> AcceptedMessage:
        """Save a new task. Where several skills are possible, its run chooses.

        Args:
            message: the message.
            owner: name of the user; empty without authentication.
            skills: the skills that the user may use, by id.

        Raises:
            InvalidParamsError: when there is no such skill, or the message cannot be stored.
        """
        task_message = from_wire_message(message)
        _check_ids(task_message)
        try:
            skill = find_skill(skills, task_message.metadata.get(SKILL_ID))
        except LookupError as error:
            raise InvalidParamsError(mask_secrets(str(error))) from error
        saved = Message()
        saved.CopyFrom(message)
        skill_id = "" if skill is None else skill.id
        earlier = await self._list_earlier(message.context_id, owner, skill_id)
        saved.context_id = message.context_id or new_id()
        request = {"skill": skill_id, "earlier": earlier, "message": to_json_object(saved)}
        if skill is None:
            request["candidates"] = list(skills)
        task_id = await self._enqueue(request, owner, _get_key(task_message, owner))
        saved.task_id = task_id
        document = await self._documents.add(
            TaskDocument(
                task_id=task_id,
                context_id=saved.context_id,
                owner=owner,
                skill=skill_id,
                history=(to_json_object(saved),),
            )
        )
        return AcceptedMessage(document, lambda: self._executor.start(task_id))

    async def answer(self, message: Message, document: TaskDocument) -> AcceptedMessage:
        """Read the answer to a task that asks.

        Raises:
            InvalidParamsError: when the message belongs to another conversation, or is no answer.
            UnsupportedOperationError: when the task has ended, or asks nothing.
        """
        task_message = from_wire_message(message)
        if message.context_id and message.context_id != document.context_id:
            raise InvalidParamsError(
                f"The context {message.context_id} does not belong to the task, whose context is {document.context_id}."
            )
        if _is_repeated(task_message, document):
            return AcceptedMessage(document, lambda: self._executor.start(document.task_id))
        record = await self._load_record(document)
        request_id, response = read_answer(task_message, list_questions(record.header.pending, self._settings))
        asked = await self._views.view(document)
        await self._keep_answer(document.task_id, request_id, response)
        document = await self._add_to_history(document, asked, message)
        return AcceptedMessage(document, lambda: self._executor.start(document.task_id))

    async def _keep_answer(self, task_id: str, request_id: str, response: Response) -> None:
        """Save an answer before anything else: should the process die now, the task continues with it.

        Raises:
            InvalidParamsError: when it cannot be stored.
            UnsupportedOperationError: when the task does not ask any more.
        """
        try:
            await self._executor.runs.answer(task_id, {request_id: response})
        except StoredStateError as error:
            raise InvalidParamsError(f"The message cannot be stored: {error}") from error
        except (ResponseError, RunConflictError) as error:
            raise UnsupportedOperationError(mask_secrets(str(error))) from error

    async def _list_earlier(self, context_id: str, owner: str, skill_id: str) -> list[JsonObject]:
        """Return the messages and results of the last completed tasks of a conversation, oldest first.

        Args:
            context_id: id of the conversation.
            owner: name of the user.
            skill_id: id of the skill that did them; empty for all skills.
        """
        if not context_id:
            return []
        tasks = await self._documents.list_tasks(owner, context_id)
        possible = [task for task in tasks if not skill_id or task.skill in ("", skill_id)][:_MOST_EARLIER]
        exchanges = [await self._views.find_exchange(task) for task in reversed(possible)]
        fitting = [exchange for exchange in exchanges if not skill_id or exchange.skill == skill_id]
        return [message for exchange in fitting for message in exchange.messages][-_MOST_MESSAGES:]

    async def _enqueue(self, request: Mapping[str, object], owner: str, key: str | None) -> str:
        user = ChatUser(owner) if owner else None
        try:
            return await self._executor.runs.start(TASK_RUNS, request, user=user, idempotency_key=key)
        except StoredStateError as error:
            raise InvalidParamsError(f"The message cannot be stored: {error}") from error

    async def _load_record(self, document: TaskDocument) -> RunRecord:
        """Return the record of a task that asks.

        Raises:
            UnsupportedOperationError: when it does not ask.
        """
        record = await self._executor.runs.find(document.task_id)
        is_running = self._executor.find_feed(document.task_id) is not None
        if record.has_ended:
            raise UnsupportedOperationError(f"The task {document.task_id} has ended: send a message without its id.")
        is_open = bool(list_questions(record.header.pending, self._settings))
        if is_running or record.status is not RunStatus.WAITING or not is_open:
            raise UnsupportedOperationError(f"The task {document.task_id} asks nothing: wait until it does.")
        if len(document.history) >= _MOST_MESSAGES:
            raise UnsupportedOperationError(
                f"The task {document.task_id} has {_MOST_MESSAGES} messages: start another."
            )
        return record

    async def _add_to_history(self, document: TaskDocument, asked: Task | None, message: Message) -> TaskDocument:
        """Add the question of a task and the message that answers it to the history."""
        is_asked = asked is not None and asked.status.HasField("message")
        added = [to_json_object(asked.status.message)] if asked is not None and is_asked else []
        answer = Message()
        answer.CopyFrom(message)
        answer.context_id = document.context_id
        added.append(to_json_object(answer))
        changed = await self._documents.change(
            document.task_id, lambda task_message: replace(task_message, history=(*task_message.history, *added))
        )
        return changed or document


def _get_key(message: A2aMessage, owner: str) -> str | None:
    key = message.metadata.get(IDEMPOTENCY_KEY)
    return f"a2a/{owner}/{key}" if isinstance(key, str) else None


def _is_repeated(message: A2aMessage, document: TaskDocument) -> bool:
    key = message.metadata.get(IDEMPOTENCY_KEY)
    sent = (
        from_wire_message(ParseDict(earlier_message, Message())).metadata.get(IDEMPOTENCY_KEY)
        for earlier_message in document.history
    )
    return isinstance(key, str) and key in sent


def _check_ids(message: A2aMessage) -> None:
    key = message.metadata.get(IDEMPOTENCY_KEY)
    for text in (message.message_id, message.context_id, key if isinstance(key, str) else ""):
        if len(text) > _MOST_CHARACTERS or "\0" in text:
            raise InvalidParamsError("An id in the message is not valid: it has a NUL character, or is too long.")
