"""Place where runs are worked on: a store, a ledger, workers, and what must be true of them in the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from itertools import chain
from pathlib import Path

from tactician import Platform
from tactician.llm.messages import join_text
from tactician.runs import RunStatus
from tactician.runs.life.execution import keep_responses
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.store import RunStore
from tactician.stores import open_store
from tactician.stores.document import Lease
from tactician.testing import ScriptedModel
from tests.crash.fleet import LOST, Fleet
from tests.crash.kinds import Kind, create_agents, create_service, messages_of_request
from tests.crash.ledger import Entry, Ledger
from tests.crash.newsroom import create_newsroom
from tests.support.nursery import Nursery

_LONGEST = 60.0
_PATIENCE = 10


class Site:
    """Runs in a store, and workers for them.

    Args:
        nursery: program that starts the workers.
        url: address of the store.
        folder: folder for the ledger, and for what the workers log.
    """

    def __init__(self, nursery: Nursery, url: str, folder: Path) -> None:
        path = folder / "ledger"
        self.ledger = Ledger(path)
        self.fleet = Fleet(nursery, url, path)
        self.runs: dict[str, Kind] = {}
        self._store = open_store(url)
        self._records = RunStore(self._store)
        self._platform = Platform(models=ScriptedModel(), store=self._store).register(
            *create_agents(self.ledger), create_newsroom(self.ledger)
        )
        self._service = create_service(self.ledger, self._platform)
        self._conversations: dict[str, list[str]] = {}

    async def aclose(self) -> None:
        """Close the store."""
        await self._store.aclose()

    async def enqueue(self, kind: Kind, hold: str | None = None) -> str:
        """Leave one more run to the workers, and return its label.

        Args:
            kind: kind of the run.
            hold: side effect that does not end the first time that it begins.
        """
        label = f"{kind.name}-{len(self.runs) + 1}"
        if hold is not None:
            self.ledger.hold(label, hold)
        self.runs[label] = kind
        if kind.is_request:
            conversation_id = await self._find_conversation()
            self._conversations[conversation_id].append(label)
            self.fleet.start(label, conversation_id)
        else:
            await self._platform.enqueue(kind.name, label, options=kind.options)
        return label

    async def _find_conversation(self) -> str:
        """Return the id of a conversation in which nothing is going on."""
        for known, asked in self._conversations.items():
            record = await self._records.load(self._find_id(asked[-1]))
            if record is not None and record.has_ended:
                return known
        conversation_id = self._service.create_conversation()
        await self._service.insert_message(conversation_id, "system", "Be quick.")
        self._conversations[conversation_id] = []
        return conversation_id

    async def wait_for_steps(self, run: str, effects: Collection[str]) -> None:
        """Return when some side effects of a run have ended, and all that have are saved."""

        async def are_saved() -> bool:
            ended = self._ended(run)
            return ended >= set(effects) and await self._count_saved(run) >= len(ended)

        await _wait_until(are_saved)

    async def expire_leases(self) -> None:
        """Let the first lease of each run expire, as after a long time."""
        for record in await self._records.find():
            await self._store.release(Lease("runs", record.run_id, owner="", fence=1, expires_at=0.0))

    async def wait_for_loss(self, victim: Entry) -> None:
        """Return when a worker has logged that it lost a run."""

        async def is_lost() -> bool:
            return f"{victim.worker}: runs/{self._find_id(victim.run)} {LOST}" in self.fleet.log

        await _wait_until(is_lost)

    async def answer_requests(self, response: Response) -> None:
        """Answer all requests of runs with the same response, for ever. The workers continue the runs."""
        while True:
            for record in await self._records.find(statuses=[RunStatus.WAITING]):
                if not any(not request.is_answered for request in record.header.pending):
                    continue
                if (claimed := await self._records.claim("person", _LONGEST, run_id=record.run_id)) is not None:
                    waiting, lease = claimed
                    answers = {request.id: response for request in waiting.header.pending}
                    await keep_responses(waiting, lease, self._platform.context(), answers)
            await asyncio.sleep(0.02)

    async def wait_for_end(self) -> None:
        """Return when all runs have ended. The more there are, the longer it may take."""

        async def have_ended() -> bool:
            records = await self._records.find()
            return len(records) == len(self.runs) and all(record.has_ended for record in records)

        await _wait_until(have_ended, _LONGEST + len(self.runs))

    def count_beginnings(self, run: str) -> Counter[str]:
        """Return how often each side effect of a run has begun."""
        return Counter(entry.step for entry in self._entries(run, "begin"))

    def count_handovers(self) -> int:
        """Return how often a worker went on with a run that another one had begun."""
        return len({(entry.run, entry.worker) for entry in self.ledger.read()}) - len(self.runs)

    async def find_problems(self) -> list[str]:
        """Return all that is not as it must be after the end of all runs.

        A worker that the machine gave no time while others took its run has some now, to log that it has lost it.
        """
        for _ in range(_PATIENCE):
            if not await self._look_for_problems():
                return []
            await asyncio.sleep(1)
        return [*await self._look_for_problems(), self.fleet.log]

    async def _look_for_problems(self) -> list[str]:
        entries: dict[str, list[Entry]] = {run: [] for run in self.runs}
        for entry in self.ledger.read():
            entries[entry.run].append(entry)
        problems: list[str] = []
        for run, kind in self.runs.items():
            found = (*_check_effects(kind, entries[run], self.fleet.interrupted), *await self._check(run))
            problems += [f"{run}: {problem}" for problem in found]
        for conversation_id, asked in self._conversations.items():
            texts = ["Be quick.", *chain.from_iterable(map(messages_of_request, asked))]
            said = [join_text([one]) for one in (await self._service.conversation(conversation_id)).messages]
            problems += [] if said == texts else [f"the conversation of {asked} has {said}"]
        return problems

    async def _check(self, run: str) -> list[str]:
        """Check what the store has of a run: its result, and each of its steps once."""
        kind, run_id = self.runs[run], self._find_id(run)
        record = await self._records.load(run_id)
        if record is None:
            return ["it is not in the store"]
        problems = []
        if (record.status, record.header.output) != ("completed", kind.output):
            problems.append(f"{record.status}: {record.header.output or record.header.failure}")
        steps = Counter(step.kind for step in await self._records.load_steps(run_id))
        saved = {name: steps[name] for name in kind.steps}
        return [*problems, f"the log has {saved}"] if saved != kind.steps else problems

    def _entries(self, run: str, event: str) -> list[Entry]:
        return [entry for entry in self.ledger.read() if entry.run == run and entry.event == event]

    def _ended(self, run: str) -> set[str]:
        return {entry.step for entry in self._entries(run, "end")}

    async def _count_saved(self, run: str) -> int:
        return len(await self._records.load_steps(self._find_id(run))) - 1  # the first one is the start of the run

    def _find_id(self, run: str) -> str:
        """Return the id of a run, with which all its idempotency keys begin; empty, as long as there are none."""
        keys = (entry.key for entry in self._entries(run, "begin") if entry.key)
        return next(keys, "").partition("/")[0]


def _check_effects(kind: Kind, entries: list[Entry], interrupted: set[str]) -> list[str]:
    """Check the side effects of a run: all are there, and what began again was in flight when a worker was interrupted.

    Args:
        kind: kind of the run.
        entries: its entries in the ledger.
        interrupted: names of the workers that were interrupted.
    """
    entries = [entry for number, entry in enumerate(entries) if not _is_late(entry, entries[:number], interrupted)]
    begun = {step: _find(entries, "begin", step) for step in kind.effects}
    problems = [f"{step} was lost" for step in kind.effects if not _find(entries, "end", step)]
    problems += [f"{step} is unknown" for step in {entry.step for entry in entries} - set(kind.effects)]
    for step, numbers in begun.items():
        if len({entries[number].key for number in numbers}) > 1:
            problems.append(f"{step} had another idempotency key the second time")
        if others := {entries[number].worker for number in numbers[:-1]} - interrupted:
            problems.append(f"{step} began again though nothing happened to {others}")
        if repeated := [one for one in kind.effects[step] if _has_begun_after(begun[one], numbers)]:
            problems.append(f"{repeated} began again after {step}, which depends on it")
    keys = Counter(entries[numbers[0]].key for numbers in begun.values() if numbers and entries[numbers[0]].key)
    return problems + [f"the idempotency key {key} is not unique" for key, count in keys.items() if count > 1]


def _is_late(entry: Entry, earlier: list[Entry], interrupted: set[str]) -> bool:
    """Return whether a step began late, as its worker was interrupted between the check and the first instruction.

    Since that check, which nothing can follow more closely, another worker has gone on with the run.
    """
    if entry.event != "begin" or entry.worker not in interrupted or not entry.checked_at:
        return False
    others = (one for one in earlier if one.worker != entry.worker and one.checked_at)
    return any(float(one.checked_at) > float(entry.checked_at) for one in others)


async def _wait_until(is_so: Callable[[], Awaitable[bool]], longest: float = _LONGEST) -> None:
    async with asyncio.timeout(longest):
        while not await is_so():  # noqa: ASYNC110 - by other processes
            await asyncio.sleep(0.01)


def _find(entries: list[Entry], event: str, step: str) -> list[int]:
    return [number for number, entry in enumerate(entries) if (entry.event, entry.step) == (event, step)]


def _has_begun_after(step: list[int], dependent: list[int]) -> bool:
    """Return whether a step began, perhaps once more, after one that depends on it had begun."""
    return bool(step and dependent) and step[-1] > dependent[0]
