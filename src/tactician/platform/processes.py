"""The processes that a platform knows of, without keeping alive all that there ever were."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from operator import attrgetter
from typing import Final
from weakref import WeakValueDictionary

from tactician.frozen import frozen
from tactician.process import AgentProcess, ProcessOptions, ProcessStatus
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.idle import IdleProcess

_WAITING: Final = frozenset({ProcessStatus.WAITING, ProcessStatus.PAUSED})
"""Statuses of processes that may wait for long: with a store, they are read again when they continue."""


@frozen
class StoredProcess:
    """Process that waits in the store: what the store does not have of it.

    Attributes:
        agent: description of its agent, which may be registered no more.
        options: its settings, functions included.
    """

    agent: PlannedAgentSpec
    options: ProcessOptions


class Processes:
    """Those that run or are to be continued, and the last ones that are not.

    Others are forgotten, unless the program holds them. A waiting process is an object of a few hundred bytes, or in
    the store; the same `AgentProcess` is returned as long as the program holds it, and another after that.

    Args:
        is_durable: true when they are kept in a store.
        wake: returns the process for an idle process.
        limit: number of processes that have ended, or wait in the store, which are not forgotten.
    """

    def __init__(self, wake: Callable[[IdleProcess], AgentProcess], *, is_durable: bool, limit: int) -> None:
        self._limit = limit
        self._is_durable = is_durable
        self._wake = wake
        self._awake: WeakValueDictionary[str, AgentProcess] = WeakValueDictionary()
        self._running: dict[str, AgentProcess] = {}
        self._idle: dict[str, IdleProcess] = {}
        self._resting: OrderedDict[str, AgentProcess | StoredProcess] = OrderedDict()

    def add(self, process: AgentProcess) -> None:
        """Note a process that is about to run, in place of the process that had its id before."""
        self._forget(process.id)
        self._awake[process.id] = self._running[process.id] = process
        process.on_rest = self.rest

    def rest(self, process: AgentProcess) -> None:
        """Note that a process has run as far as it can, in this program or another."""
        if self._awake.get(process.id) is not process:
            return
        if process.status is ProcessStatus.RUNNING and not self._is_durable:  # somebody makes single steps
            return
        self._forget(process.id)
        waits = process.status in _WAITING
        if (waits or process.status is ProcessStatus.RESTING) and not self._is_durable:
            self._idle[process.id] = process.to_idle()
            return
        self._resting[process.id] = StoredProcess(process.agent, process.options) if waits else process
        if len(self._resting) > self._limit:
            self._resting.popitem(last=False)

    def find(self, process_id: str) -> AgentProcess | None:
        """Return the process with the id, if it is here; see `find_stored` for processes that are in the store only."""
        process = self._awake.get(process_id)
        if process is None and (idle := self._idle.get(process_id)) is not None:
            process = self._awake[process_id] = self._wake(idle)
            process.on_rest = self.rest
        return process

    def find_stored(self, process_id: str) -> StoredProcess | None:
        """Return what the store does not have of a process that is in the store only."""
        resting = self._resting.get(process_id)
        return resting if isinstance(resting, StoredProcess) else None

    def forget(self, process_id: str) -> None:
        """Forget a process: it was deleted."""
        self._forget(process_id)
        self._awake.pop(process_id, None)

    def all(self) -> list[AgentProcess | IdleProcess]:
        """Return all that are here, oldest first."""
        idle = [process for process in self._idle.values() if process.id not in self._awake]
        return sorted((*self._awake.values(), *idle), key=attrgetter("began_at"))

    def list_stored(self) -> list[str]:
        """Return the ids of the last ones that wait in the store, and are not here."""
        return [
            process_id
            for process_id, process in self._resting.items()
            if isinstance(process, StoredProcess) and process_id not in self._awake
        ]

    def _forget(self, process_id: str) -> None:
        """Hold a process no longer, if it is held."""
        self._running.pop(process_id, None)
        self._idle.pop(process_id, None)
        self._resting.pop(process_id, None)
