"""The run that a conversation names: until it has ended, no other can add messages."""

from __future__ import annotations

from contextlib import suppress

from tactician.conversation import Conversation
from tactician.errors import RunConflictError, StoredStateError
from tactician.llm import Message, ToolResult
from tactician.loop.saved_state import read_added_messages
from tactician.platform.conversations.request import Request
from tactician.runs import RunState, RunStatus
from tactician.runs.life.holding import kill_run
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore

_UNKNOWN = "Interrupted: it may have been run or not."
_SUPERSEDED = "interrupted, and its conversation went on without it"


class PrecedingRun:
    """The run that a conversation names, for another run that wants to add messages.

    Args:
        store: store of runs.
        conversation: the conversation.
    """

    def __init__(self, store: DocumentStore, conversation: Conversation) -> None:
        self._store = store
        self._runs = RunStore(store)
        self._conversation = conversation

    async def check_ended(self, run_id: str | None = None) -> None:
        """Check that a run may add messages: no other waits or runs.

        A run that was interrupted with its program is ended for a new request: nobody waits for its answer any more.
        What it has added stays in the conversation.

        Args:
            run_id: id of the run, if it is continued.

        Raises:
            RunConflictError: when another run has not ended.
        """
        part = self._conversation.part
        if part is None or part.run_id == run_id:
            return
        record = await self._runs.load_readable(part.run_id)
        if record is not None and record.was_interrupted and run_id is None:
            await kill_run(self._store, record.run_id, _SUPERSEDED)
            record = await self._runs.load_readable(part.run_id)
        if record is not None and not record.has_ended:
            raise self._conflict(record)
        if record is not None and record.status is RunStatus.KILLED and part.begin == part.end:
            with suppress(StoredStateError):  # it cannot be read: then it is as if it had been deleted
                await self._restore_messages(record)

    async def _restore_messages(self, record: RunRecord) -> None:
        """Add the messages that a run could not save any more to the conversation."""
        conversation = self._conversation
        conversation.restore_part(await self._load_messages(record))
        unknown = [ToolResult(call.id, call.name, _UNKNOWN, is_error=True) for call in conversation.open_calls]
        conversation.extend(unknown)
        conversation.end_part()

    def _conflict(self, record: RunRecord) -> RunConflictError:
        waits = record.status is not RunStatus.RUNNING
        remedy = "resume that run first, if only to reject its requests" if waits else "wait until that run has ended"
        return RunConflictError(
            f"The conversation {self._conversation.id!r} waits for the run {record.run_id}, which "
            f"{record.status.sentence}: {remedy}, or kill it"
        )

    async def _load_messages(self, record: RunRecord) -> tuple[Message, ...]:
        whole = await self._runs.load(record.run_id)
        if whole is None:
            return ()
        state = await self._runs.load_state(whole)
        return _find_messages(state) or Request.restore(state.start).messages


def _find_messages(state: RunState) -> tuple[Message, ...]:
    batches = (read_added_messages(checkpoint.data) for checkpoint in state.tree.walk())
    return next(filter(None, batches), ())
