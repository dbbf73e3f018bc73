"""Experience with actions, tools and models, read from the records of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.planning.forecast.experience import Experience, RunTrial
from tactician.process import AgentProcess
from tactician.process.deciding.experience import ActionTrial, ExperienceTable, list_trials
from tactician.process.idle import IdleProcess
from tactician.process.saving.saved_state import is_process, read_history, read_origin
from tactician.runs.context.step_events import read_lines
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore

Kind: TypeAlias = Literal["action", "tool", "model"]
_MOST_RUNS: Final = 300
"""Runs that are read, the newest: what lies further back counts little."""


@frozen
class Measured:
    """Experience with an action, a tool or a model.

    Attributes:
        kind: `"action"`, `"tool"` or `"model"`.
        name: its name.
        agent: name of the agent of an action; empty for tools and models.
        experience: runs, success, seconds and dollars.
    """

    kind: Kind
    name: str
    agent: str
    experience: Experience


class ExperienceReader:
    """Reader of the experience of a platform. Each record is read once for each of its versions.

    Args:
        store: where runs are kept.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._runs = RunStore(store)
        self._read: dict[str, tuple[tuple[int, int], tuple[ActionTrial, ...]]] = {}

    async def read(self, now: float, processes: Iterable[AgentProcess | IdleProcess] = ()) -> ExperienceTable:
        """Return the experience with actions that had ended at a time.

        Args:
            now: seconds since the epoch.
            processes: processes that the store does not have.
        """
        trials = [trial for process in processes for trial in list_trials(process.agent.name, process.history)]
        records, earlier, self._read = await self._list_records(), self._read, {}
        for record in records:
            entry, version = earlier.get(record.run_id), (record.version, record.steps)
            if entry is None or entry[0] != version:
                entry = version, await self._read_record(record)
            self._read[record.run_id] = entry
            trials.extend(entry[1])
        return ExperienceTable(trials, now)

    async def list_all(self, now: float, processes: Iterable[AgentProcess | IdleProcess] = ()) -> list[Measured]:
        """Return the experience with actions, and, of runs in a store, with tools and models."""
        table = await self.read(now, processes)
        actions = [Measured("action", name, agent, table.find(name, agent)) for agent, name in table.names]
        return actions + await self._list_parts(now)

    async def _list_parts(self, now: float) -> list[Measured]:
        """Return the experience with tools and models that had answered at a time, by the events in stored steps."""
        trials: dict[tuple[Kind, str], list[RunTrial]] = defaultdict(list)
        for record in await self._list_records():
            with suppress(StoredStateError):
                for step in await self._runs.load_steps(record.run_id):
                    for values in read_lines(step.events):
                        if (part := _read_event(values)) is not None and part[2].at <= now:
                            trials[part[0], part[1]].append(part[2])
        return [Measured(kind, name, "", Experience.of(trials[kind, name], now)) for kind, name in sorted(trials)]

    async def _list_records(self) -> list[RunRecord]:
        return await self._runs.find(limit=_MOST_RUNS, newest_first=True)

    async def _read_record(self, listed: RunRecord) -> tuple[ActionTrial, ...]:
        """Return the runs of actions of a record; none, when it cannot be read."""
        with suppress(StoredStateError):
            if (record := await self._runs.load(listed.run_id)) is not None:
                tree = (await self._runs.load_state(record)).tree
                return tuple(trial for part in tree.walk() for trial in _list_saved(part.data))
        return ()


def _list_saved(data: Mapping[str, object]) -> Iterator[ActionTrial]:
    if is_process(data):
        yield from list_trials(read_origin(data).agent, read_history(data))


def _read_event(values: Mapping[str, object]) -> tuple[Kind, str, RunTrial] | None:
    """Return the run of a tool or a model that an event reports as ended, if it does."""
    at, seconds = _find_number(values, "time"), _find_number(values, "seconds")
    match values:
        case {"type": "ToolReturned", "call": {"name": str(name)}, "result": {**result}}:
            return "tool", name, RunTrial(at, seconds, 0.0, not result.get("is_error"))
        case {"type": "TurnCompleted", "response": {"usage": {"model": str(name)} as usage}}:
            return "model", name, RunTrial(at, seconds, _find_number(usage, "cost"), succeeded=True)
        case {"type": "TurnFailed", "model": str(name)}:
            return "model", name, RunTrial(at, seconds, 0.0, succeeded=False)
        case {"type": "ModelReturned", "model": str(name)}:
            usage = values.get("usage")
            dollars = _find_number(usage, "cost") if isinstance(usage, Mapping) else 0.0
            return "model", name, RunTrial(at, seconds, dollars, values.get("error") is None)
    return None


def _find_number(values: Mapping[str, object], name: str) -> float:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
