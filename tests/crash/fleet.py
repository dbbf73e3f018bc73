"""Workers in processes of their own, which can be killed and frozen."""

from __future__ import annotations

from pathlib import Path

from tests.support.nursery import Nursery

LEASE = 2.0
LOST = "has been taken by another worker"
"""Part of what a worker logs that has lost a lease."""


class Fleet:
    """Workers for one store. What they log is in a file.

    Args:
        nursery: program that starts the workers.
        url: address of the store.
        ledger: path of the ledger.

    Attributes:
        workers: the names of those that are alive.
        victims: the names of those that were killed or frozen.
        lease: seconds that the leases of workers last that are started from now on.
    """

    def __init__(self, nursery: Nursery, url: str, ledger: Path) -> None:
        self.workers: list[str] = []
        self.victims: set[str] = set()
        self.lease = LEASE
        self._nursery = nursery
        self._url = url
        self._ledger = ledger

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in list(self.workers):
            self.kill(worker)

    @property
    def log(self) -> str:
        """Text that the workers have logged."""
        return self._ledger.with_suffix(".log").read_text()

    @property
    def interrupted(self) -> set[str]:
        """The names of the workers that were killed or frozen, or lost a lease as the machine was too busy."""
        losers = (line.partition(":")[0] for line in self.log.splitlines() if LOST in line)
        return self.victims | set(losers)

    def resize(self, number: int) -> None:
        """Start or kill workers, so that there are so many."""
        while len(self.workers) < number:
            self.start()
        for worker in self.workers[number:]:
            self.kill(worker)

    def start(self, *request: str) -> None:
        """Start a worker.

        Args:
            *request: message of the request that it makes first, if any, and the id of the conversation.
        """
        self.workers.append(self._nursery.start(self._url, str(self._ledger), str(self.lease), *request))

    def kill(self, worker: str) -> None:
        """Kill a worker. It has ended then."""
        self.victims.add(worker)
        self.workers.remove(worker)
        self._nursery.command("kill", worker)

    def freeze(self, worker: str) -> None:
        """Freeze a worker. It does nothing from then on."""
        self.victims.add(worker)
        self._nursery.command("freeze", worker)

    def thaw(self, worker: str) -> None:
        """Let a frozen worker continue."""
        self._nursery.command("thaw", worker)
