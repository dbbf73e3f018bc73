"""What A2A knows of a task besides its run: who sent it, its conversation, its messages, and who is notified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, replace
from functools import cache
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, RunConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_COLLECTION: Final = "a2a_tasks"
_NOTIFYING: Final = "notifying"
_ATTEMPTS: Final = 10
_MOST_LISTED: Final = 1000


@frozen(kw_only=True)
class TaskDocument:
    """Part of a task that its run does not have.

    Attributes:
        task_id: id of the task, and of its run.
        context_id: id of the conversation.
        owner: name of the user who sent it; empty without authentication.
        skill: id of the skill; empty when the run chooses it.
        history: messages of both sides, oldest first.
        push: where notifications are sent to.
        notified: state and time of the last notification.
        is_settled: true when no notification is to come.
    """

    task_id: str
    context_id: str
    owner: str
    skill: str
    history: tuple[dict[str, JsonValue], ...] = ()
    push: tuple[dict[str, JsonValue], ...] = ()
    notified: str = ""
    is_settled: bool = False
    version: int = field(default=0, compare=False)


class TaskDocuments:
    """Documents of tasks in a store."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    async def load(self, task_id: str) -> TaskDocument | None:
        """Return the document of a task, or `None`.

        Raises:
            StoredStateError: when it cannot be read.
        """
        document = await self._store.load(_COLLECTION, task_id)
        return None if document is None else _read(document)

    async def add(self, task: TaskDocument) -> TaskDocument:
        """Store a new task; return the task that is stored, if its id is known."""
        try:
            await self._store.save(_write(task))
        except DocumentConflictError:
            if (stored_document := await self.load(task.task_id)) is not None:
                return stored_document
            raise
        return task

    async def change(self, task_id: str, edit: Callable[[TaskDocument], TaskDocument]) -> TaskDocument | None:
        """Store a task as a function changes it, and return it, or `None`.

        Raises:
            RunConflictError: when it changes too fast.
        """
        for _ in range(_ATTEMPTS):
            if (task := await self.load(task_id)) is None:
                return None
            if (changed := edit(task)) == task:
                return task
            try:
                await self._store.save(_write(changed))
            except DocumentConflictError:
                continue
            return changed
        raise RunConflictError(f"The task {task_id} changes too fast: try again.")

    async def list_tasks(self, owner: str, context_id: str | None = None) -> list[TaskDocument]:
        """Return the last 1000 tasks of a user, newest first."""
        documents = await self._store.find(
            _COLLECTION, names=(f"user {owner}",), parent_id=context_id, limit=_MOST_LISTED, newest_first=True
        )
        return list(map(_read, documents))

    async def list_notifying(self) -> list[TaskDocument]:
        """Return tasks whose changes somebody is notified of."""
        documents = await self._store.find(_COLLECTION, statuses=(_NOTIFYING,), limit=_MOST_LISTED, newest_first=True)
        return list(map(_read, documents))

    async def delete(self, task_id: str) -> None:
        """Delete the document of a task."""
        await self._store.delete(_COLLECTION, task_id)


def _write(task: TaskDocument) -> StoredDocument:
    values = {part.name: getattr(task, part.name) for part in fields(TaskDocument) if part.name != "version"}
    return StoredDocument(
        collection=_COLLECTION,
        id=task.task_id,
        body=to_json(values).decode(),
        version=task.version,
        name=f"user {task.owner}",
        status=_NOTIFYING if task.push and not task.is_settled else "",
        parent_id=task.context_id,
    )


def _read(document: StoredDocument) -> TaskDocument:
    try:
        return replace(_adapter().validate_json(document.text), version=document.version)
    except ValidationError as error:
        raise StoredStateError(f"The task {document.id} cannot be read: {error}") from error


@cache
def _adapter() -> TypeAdapter[TaskDocument]:
    return TypeAdapter(TaskDocument)
