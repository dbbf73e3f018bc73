"""The processes that a platform knows of, without keeping alive all that there ever were."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final
from weakref import WeakValueDictionary

from tactician.process import AgentProcess, ProcessStatus

MOST_AT_REST: Final = 1000
_TO_BE_CONTINUED: Final = frozenset({ProcessStatus.WAITING, ProcessStatus.PAUSED})


class Processes:
    """Those that run or are to be gone on with, and the last ones that are not.

    Others are forgotten, unless the program holds them. Where processes are kept in a store, even one that waits may be
    forgotten here: the store has it.

    Args:
        is_durable: whether they are kept in a store.
    """

    def __init__(self, *, is_durable: bool) -> None:
        self._is_durable = is_durable
        self._known: WeakValueDictionary[str, AgentProcess] = WeakValueDictionary()
        self._needed: dict[str, AgentProcess] = {}
        self._at_rest: OrderedDict[str, AgentProcess] = OrderedDict()
        self._look_again_at = MOST_AT_REST

    def add(self, process: AgentProcess) -> None:
        """Knows of one that is about to run, in place of the one that had its id before."""
        self._at_rest.pop(process.id, None)
        self._known[process.id] = self._needed[process.id] = process
        if len(self._needed) > self._look_again_at:
            self._look_again()

    def drop(self, process: AgentProcess) -> None:
        """Forgets one."""
        for known in (self._known, self._needed, self._at_rest):
            known.pop(process.id, None)

    def rest(self, process: AgentProcess) -> None:
        """One has run as far as it can."""
        if not self._is_durable and process.status in _TO_BE_CONTINUED:
            return
        self._needed.pop(process.id, None)
        self._at_rest[process.id] = process
        self._at_rest.move_to_end(process.id)
        if len(self._at_rest) > MOST_AT_REST:
            self._at_rest.popitem(last=False)

    def find(self, process_id: str) -> AgentProcess | None:
        """The process with the id, if it is known."""
        return self._known.get(process_id)

    def all(self) -> list[AgentProcess]:
        """All that are known, oldest first."""
        return list(self._known.values())

    def _look_again(self) -> None:
        """Finds those that the program itself has gone on with to their end."""
        for process in [one for one in self._needed.values() if one.status.is_terminal]:
            self.rest(process)
        self._look_again_at = max(MOST_AT_REST, 2 * len(self._needed))
