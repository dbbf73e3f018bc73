"""Tasks as views of runs: the record of a run says where its task stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from a2a.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from google.protobuf.json_format import ParseDict
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import JsonValue

from tactician.a2a.messages import A2aPart
from tactician.a2a.wire import JsonObject, to_json_object, to_wire_part
from tactician.frozen import frozen
from tactician.llm import Text
from tactician.runs import RunStatus
from tactician.runs.life.output import read_output
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.secrets import mask_secrets
from tactician.serve.a2a.answers import create_question, list_questions
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_documents import TaskDocument
from tactician.serve.a2a.task_run import is_rejection

RESULT: Final = "result"
"""Id of the artifact of a task."""
_STATES: Final = {
    RunStatus.NOT_STARTED: TaskState.TASK_STATE_SUBMITTED,
    RunStatus.RUNNING: TaskState.TASK_STATE_WORKING,
    RunStatus.PAUSED: TaskState.TASK_STATE_WORKING,
    RunStatus.WAITING: TaskState.TASK_STATE_WORKING,
    RunStatus.RESTING: TaskState.TASK_STATE_WORKING,
    RunStatus.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    RunStatus.KILLED: TaskState.TASK_STATE_CANCELED,
}
ENDED: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
MOVING: Final = frozenset({TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING})
_ENDED_UNEVENTFULLY: Final = frozenset({RunStatus.COMPLETED, RunStatus.KILLED})


@frozen
class Exchange:
    """Messages of a task with its result as the last of them, and the id of the skill that did it."""

    skill: str
    messages: Sequence[JsonObject]


class TaskViews:
    """Views of the runs of a store as tasks."""

    def __init__(self, runs: RunStore, settings: A2aSettings) -> None:
        self._runs = runs
        self._settings = settings

    async def view(self, document: TaskDocument, *, is_running: bool = False, with_result: bool = True) -> Task | None:
        """Return a task; `None` when its run was deleted.

        Args:
            document: what A2A knows of it.
            is_running: true when it is about to continue in this process, whatever its record says.
            with_result: false to leave the artifacts out, which are read with the state of the run.

        Raises:
            StoredStateError: when the run cannot be read.
        """
        record = await self._runs.load(document.task_id, with_body=False)
        if record is None:
            return None
        is_read = with_result or is_rejection(record.header.output)
        output = await self._load_output(document.task_id) if record.status is RunStatus.COMPLETED and is_read else {}
        state = self._find_state(record, output, is_running)
        return Task(
            id=document.task_id,
            context_id=document.context_id,
            status=TaskStatus(
                state=state, message=self._create_message(document, record, state, output), timestamp=_get_time(record)
            ),
            artifacts=_create_artifacts(_find_skill(document, output), output),
            history=[ParseDict(message, Message()) for message in document.history],
        )

    async def find_reply(self, document: TaskDocument) -> Message | None:
        """Return the message with which a completed task replies in place of a task; `None` for any other."""
        output = await self._load_output(document.task_id)
        if not isinstance(parts := output.get("reply"), list):
            return None
        return Message(
            message_id=f"{document.task_id}-reply",
            context_id=document.context_id,
            role=Role.ROLE_AGENT,
            parts=_parse_parts(parts),
        )

    async def find_exchange(self, document: TaskDocument) -> Exchange:
        """Return the messages of a completed task; none of any other task."""
        output = await self._load_output(document.task_id)
        parts, skill = output.get("parts", output.get("reply")), _find_skill(document, output)
        if not isinstance(parts, list):
            return Exchange(skill, [])
        result = Message(message_id=f"{document.task_id}-{RESULT}", role=Role.ROLE_AGENT, parts=_parse_parts(parts))
        return Exchange(skill, [*document.history, to_json_object(result)])

    async def _load_output(self, task_id: str) -> Mapping[str, JsonValue]:
        """Return the output of a run; nothing when the run has not completed, or was deleted."""
        record = await self._runs.load(task_id)
        if record is None or record.status is not RunStatus.COMPLETED:
            return {}
        state = await self._runs.load_state(record)
        output = read_output(state.tree)
        return cast("Mapping[str, JsonValue]", output) if isinstance(output, dict) else {}

    def _find_state(self, record: RunRecord, output: Mapping[str, JsonValue], is_running: bool) -> TaskState:
        if "rejected" in output:
            return TaskState.TASK_STATE_REJECTED
        waits = record.status is RunStatus.WAITING and not is_running
        if waits and list_questions(record.header.pending, self._settings):
            return TaskState.TASK_STATE_INPUT_REQUIRED
        return _STATES.get(record.status, TaskState.TASK_STATE_FAILED)

    def _create_message(
        self, document: TaskDocument, record: RunRecord, state: TaskState, output: Mapping[str, JsonValue]
    ) -> Message | None:
        parts: tuple[A2aPart, ...] = ()
        if state == TaskState.TASK_STATE_INPUT_REQUIRED:
            parts = create_question(list_questions(record.header.pending, self._settings))
        elif state == TaskState.TASK_STATE_REJECTED:
            parts = (Text(mask_secrets(str(output["rejected"]))),)
        elif state in ENDED and record.status not in _ENDED_UNEVENTFULLY and record.header.failure:
            parts = (Text(mask_secrets(record.header.failure)),)
        if not parts:
            return None
        return Message(
            message_id=f"{document.task_id}-{record.version}",
            task_id=document.task_id,
            context_id=document.context_id,
            role=Role.ROLE_AGENT,
            parts=map(to_wire_part, parts),
        )


def _find_skill(document: TaskDocument, output: Mapping[str, JsonValue]) -> str:
    """Return the id of the skill of a task; empty while none is chosen."""
    return document.skill or str(output.get("skill", ""))


def _create_artifacts(skill: str, output: Mapping[str, JsonValue]) -> list[Artifact]:
    parts = output.get("parts", output.get("reply"))
    if not isinstance(parts, list) or not parts:
        return []
    return [Artifact(artifact_id=RESULT, name=skill, parts=_parse_parts(parts))]


def _parse_parts(parts: list[JsonValue]) -> list[Part]:
    return [ParseDict(cast("dict[str, object]", part), Part()) for part in parts]


def _get_time(record: RunRecord) -> Timestamp:
    time = Timestamp()
    time.FromMilliseconds(round(record.updated_at * 1000))
    return time
