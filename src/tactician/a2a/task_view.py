"""State of a remote task, gathered from what the other side tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from a2a.types import Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus

from tactician.a2a.errors import RemoteUnavailableError
from tactician.a2a.messages import A2aPart
from tactician.a2a.wire import describe_state, from_wire_parts
from tactician.llm import Text

_ENDED: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
_INTERRUPTED: Final = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})


class RemoteTaskView:
    """State of a task, its artifacts, and its last message.

    Args:
        max_bytes: size of all artifacts together.
        task_id: id of the task, if it is known.
        context_id: id of its conversation, if it is known.
    """

    def __init__(self, max_bytes: int, task_id: str = "", context_id: str = "") -> None:
        self.task_id = task_id
        self.context_id = context_id
        self.message: tuple[A2aPart, ...] = ()
        self._state = TaskState.TASK_STATE_UNSPECIFIED
        self._artifacts: dict[str, list[A2aPart]] = {}
        self._reply: tuple[A2aPart, ...] | None = None
        self._left = max_bytes

    @property
    def state(self) -> str:
        """State of the task in words."""
        return describe_state(self._state)

    @property
    def has_ended(self) -> bool:
        """True when nothing more comes."""
        return self._reply is not None or self._state in _ENDED

    @property
    def is_completed(self) -> bool:
        """True when the task has its result."""
        return self._reply is not None or self._state == TaskState.TASK_STATE_COMPLETED

    @property
    def is_interrupted(self) -> bool:
        """True when the task needs input."""
        return self._state in _INTERRUPTED

    @property
    def result(self) -> tuple[A2aPart, ...]:
        """Parts of the result: of a direct reply, of the artifacts, or of the last message."""
        if self._reply is not None:
            return self._reply
        return tuple(part for parts in self._artifacts.values() for part in parts) or self.message

    def take(self, event: StreamResponse) -> Iterator[str]:
        """Take an event of a stream, and yield the text that it adds to the result."""
        match event.WhichOneof("payload"):
            case "message":
                self._reply = from_wire_parts(event.message.parts)
            case "task":
                self.replace(event.task)
            case "status_update":
                self._identify(event.status_update.task_id, event.status_update.context_id)
                self._set_status(event.status_update.status)
            case "artifact_update":
                self._identify(event.artifact_update.task_id, event.artifact_update.context_id)
                yield from self._add(event.artifact_update)

    def replace(self, task: Task) -> None:
        """Take the state of the task as it is now."""
        self._identify(task.id, task.context_id)
        self._artifacts = {}
        for artifact in task.artifacts:
            self._append(artifact)
        self._set_status(task.status)

    def _identify(self, task_id: str, context_id: str) -> None:
        if self.task_id and task_id != self.task_id:
            raise RemoteUnavailableError(f"the task {self.task_id} became another task, {task_id!r}")
        self.task_id, self.context_id = task_id, context_id

    def _set_status(self, status: TaskStatus) -> None:
        self._state = status.state
        self.message = from_wire_parts(status.message.parts) if status.HasField("message") else ()

    def _add(self, update: TaskArtifactUpdateEvent) -> Iterator[str]:
        if not update.append:
            self._artifacts.pop(update.artifact.artifact_id, None)
        for part in self._append(update.artifact):
            if isinstance(part, Text):
                yield part.text

    def _append(self, artifact: Artifact) -> tuple[A2aPart, ...]:
        """Append parts to an artifact; a text continues the text before it.

        Raises:
            RemoteUnavailableError: when the artifacts are too long.
        """
        self._left -= artifact.ByteSize()
        if self._left < 0:
            raise RemoteUnavailableError(f"the result of the task {self.task_id} is too long")
        artifact_parts, added = self._artifacts.setdefault(artifact.artifact_id, []), from_wire_parts(artifact.parts)
        for part in added:
            if isinstance(part, Text) and artifact_parts and isinstance(last := artifact_parts[-1], Text):
                artifact_parts[-1] = Text(last.text + part.text)
            else:
                artifact_parts.append(part)
        return added
