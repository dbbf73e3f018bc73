"""Which run a conversation waits for. It is kept beside the run, so that both are there or none of them."""

from __future__ import annotations

from tactician.conversation import Conversation
from tactician.errors import RunConflictError
from tactician.llm import ToolResult
from tactician.runs import RunRecord, RunStatus, RunStore

_NAME = "conversation"


class WaitingRuns:
    """The runs that wait, by their conversations.

    Args:
        store: that of the runs.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store

    async def begin(self, conversation: Conversation) -> None:
        """Makes sure that a conversation can be gone on with: calls of a run that is lost are answered.

        Raises:
            RunConflictError: when a run waits that is a part of it.
        """
        record = await self._store.load(_key(conversation.id))
        if record is not None:
            raise RunConflictError(
                f"The conversation {conversation.id!r} waits for the run {record.state}: resume that first, if only to "
                "reject what it waits for"
            )
        lost = [ToolResult(c.id, c.name, "Not run: the run was lost.", is_error=True) for c in conversation.open_calls]
        conversation.extend(lost)

    async def wait(self, conversation_id: str, run_id: str) -> None:
        """Lets a conversation wait for a run."""
        key = _key(conversation_id)
        known = await self._store.load(key)
        version = 0 if known is None else known.version
        await self._store.save(RunRecord(key, _NAME, RunStatus.WAITING, run_id, version))

    async def give_up(self, conversation_id: str) -> None:
        """Forgets the run that a conversation waits for, if there is one."""
        if (record := await self._store.load(_key(conversation_id))) is not None:
            await self._store.delete(record.state)
            await self.end(conversation_id)

    async def end(self, conversation_id: str) -> None:
        """Lets a conversation wait no more."""
        await self._store.delete(_key(conversation_id))


def _key(conversation_id: str) -> str:
    return f"conversation/{conversation_id}"
