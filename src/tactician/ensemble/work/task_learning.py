"""Learning of a task: what it reads of earlier runs, and what it leaves for later ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from itertools import chain, islice
from typing import Final

from pydantic import TypeAdapter

from tactician.agents import Agent
from tactician.ensemble.learning.analysis import analyze
from tactician.ensemble.learning.outbox import AT_ONCE, LearningOutbox, Parcel
from tactician.ensemble.learning.recollection import LearningStores, Recollection
from tactician.ensemble.learning.reflection import ReflectionInput, TaskReflection, apply_strategy
from tactician.ensemble.learning.scoped_memory import DEFAULT_RECALL
from tactician.ensemble.learning.scopes import ScopeEntry
from tactician.ensemble.tasks.events import TaskReflected
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.values.errors import INTERRUPTIONS
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.task_execution import TaskExecution
from tactician.llm import ModelLike
from tactician.loggers import get_logger
from tactician.runs import RunContext
from tactician.runs.progress.checkpoint import Live, revive
from tactician.suggestions import did_you_mean
from tactician.text import describe_error

_MOST_QUERY: Final = 8_000
_MOST_REFLECTIONS: Final = 1_000
_logger = get_logger(__name__)


class TaskLearning:
    """Learning of a task in a run. What was read and written before an interruption counts after it.

    Args:
        task: the task.
        stores: the stores of the ensemble.
        model: the model that reflects; the model of the run by default.
        place: the context of the task.
        outbox: the outbox for what the task leaves.
    """

    __slots__ = ("_model", "_outbox", "_place", "_stores", "_task")

    def __init__(
        self,
        task: Task,
        stores: LearningStores,
        model: ModelLike | None,
        place: RunContext,
        outbox: LearningOutbox = AT_ONCE,
    ) -> None:
        self._outbox = outbox
        self._task = task
        self._stores = stores
        self._model = model
        self._place = place.at("learning")

    async def load(self, input: TaskInput) -> TaskInput:
        """Return the input with what earlier runs have left. It is read once, before the task begins to work.

        Raises:
            StoreError: when the memory does not answer.
            StoredStateError: when an entry of the memory cannot be read.
        """
        if not self._task.learns:
            return input
        recalled = self._read_recollection()
        if recalled is None:
            recalled = Recollection(await self._recall(input), await self._load_reflections())
            self._set(recalled=Live(recalled, lambda _: _adapter().dump_python(recalled, mode="json")))
            await self._place.save_step("recall", self._task.id)
        return replace(input, memory=recalled.memory, reflections=recalled.reflections)

    async def keep(self, input: TaskInput, output: TaskOutput) -> None:
        """Leave an accepted output for later runs: in the memory, and with a reflection.

        Raises:
            StoreError: when the memory does not answer.
        """
        if not self._task.learns:
            return
        assert self._place.checkpoint is not None
        if self._outbox.holds:
            self._set(held=True)
        entry = self._create_entry(output).with_bounds()
        entries = tuple((scope, entry) for scope in self._task.memory)
        await self._outbox.put(Parcel(self._place.checkpoint.path, entries, partial(self._write, input, output)))

    async def keep_again(self, input: TaskInput, output: TaskOutput) -> None:
        """Leave it again, if it was left before the run continued."""
        if "held" in self._data:
            await self.keep(await self.load(input), output)

    async def _write(self, input: TaskInput, output: TaskOutput) -> None:
        """Write an output to the memory, and reflect on it."""
        for scope in self._task.memory:
            assert self._stores.memory is not None, "check() refuses scopes without a memory"
            await self._stores.memory.add(scope, self._create_entry(output), context=self._place)
        if self._task.reflection is not None:
            await self._reflect(
                ReflectionInput(input.task_id, input.description, input.expected_output, output.raw, input.reflections)
            )

    async def _recall(self, input: TaskInput) -> dict[str, tuple[ScopeEntry, ...]]:
        recalled = {}
        text = input.text if input.shows_text else ""
        query = f"{input.description}\n{text}".strip()[:_MOST_QUERY]
        hidden = {_identify(self._create_entry(output).with_bounds()) for output in input.forgotten_outputs}
        for scope in self._task.memory:
            assert self._stores.memory is not None, "check() refuses scopes without a memory"
            limit = DEFAULT_RECALL + len(hidden)
            entries = await self._stores.memory.recall(scope, query, limit=limit, context=self._place)
            all_entries = chain(self._outbox.list_entries(scope), entries)
            visible = (entry for entry in all_entries if _identify(entry) not in hidden)
            most = min(DEFAULT_RECALL, self._stores.memory.scopes[scope].keep_last)
            recalled[scope] = tuple(islice(visible, most))
        return recalled

    async def _load_reflections(self) -> tuple[TaskReflection, ...]:
        """Return the newest reflections with notes. A store that fails does not fail the task."""
        if (settings := self._task.reflection) is None or self._stores.reflections is None:
            return ()
        try:
            stored = await self._stores.reflections.load(self._task.identity)
            noted = (reflection.with_bounds() for reflection in stored if reflection.notes)
            return tuple(islice(noted, settings.max_reflections or _MOST_REFLECTIONS))
        except Exception as error:
            reason = self._log_failure("its reflections cannot be loaded", error)
            self._place.emit(TaskReflected, task_id=self._task.id, error=reason)
            return ()

    async def _reflect(self, input: ReflectionInput) -> None:
        """Reflect on an accepted output, and store the reflection, also when it failed."""
        if "reflection" not in self._data:
            reflection = await self._find_improvement(input)
            self._set(reflection=Live(reflection, lambda _: _reflections().dump_python(reflection, mode="json")))
            await self._place.save_step("reflection", self._task.id, "; ".join(reflection.notes if reflection else ()))
        reflection = revive(self._data["reflection"], _reflections().validate_python)
        error = None if reflection is None else await self._store(reflection)
        notes = () if reflection is None else reflection.notes
        self._place.emit(TaskReflected, task_id=self._task.id, notes=notes, error=error)

    async def _find_improvement(self, input: ReflectionInput) -> TaskReflection | None:
        """Return the reflection on an output, dated by the clock of the run; `None` when nothing is to be improved."""
        now, key = datetime.fromtimestamp(self._place.clock.time(), UTC), self._key
        try:
            reflection = await self._apply_strategy(input)
        except INTERRUPTIONS:
            raise
        except Exception as error:
            reflection = TaskReflection(failure=self._log_failure("it could not be reflected on", error))
        return None if reflection is None else replace(reflection, created_at=now, id=key).with_bounds()

    async def _apply_strategy(self, input: ReflectionInput) -> TaskReflection | None:
        assert self._task.reflection is not None
        if (strategy := self._task.reflection.strategy) is None:
            return await analyze(input, self._model, self._place)
        with self._place.as_internal().enter():
            return await apply_strategy(strategy, input)

    async def _store(self, reflection: TaskReflection) -> str | None:
        """Store a reflection, and return why there are no notes. A store that fails does not fail the task."""
        if self._stores.reflections is not None:
            try:
                await self._stores.reflections.store(self._task.identity, reflection)
            except Exception as error:
                return self._log_failure("its reflection cannot be stored", error)
        return reflection.failure or None

    def _create_entry(self, output: TaskOutput) -> ScopeEntry:
        run_id = self._place.root_id or self._place.run_id
        return ScopeEntry(output.raw, output.completed_at, output.task_id, output.role, run_id, self._key)

    def _log_failure(self, problem: str, error: Exception) -> str:
        """Log an error that does not fail the task, and return it as text."""
        _logger.warning("task %r: %s", self._task.label, problem, exc_info=True)
        return f"{problem}: {describe_error(error)}"

    @property
    def _key(self) -> str:
        """The id of what this run of the task writes, the same when the run continues elsewhere."""
        return sha256(self._place.idempotency_key.encode()).hexdigest()

    @property
    def _data(self) -> Mapping[str, object]:
        assert self._place.checkpoint is not None
        return self._place.checkpoint.data

    def _set(self, **values: object) -> None:
        assert self._place.checkpoint is not None
        self._place.checkpoint.set(**values)

    def _read_recollection(self) -> Recollection | None:
        saved = self._data.get("recalled")
        return None if saved is None else revive(saved, _adapter().validate_python)


async def recall(execution: TaskExecution) -> None:
    """Add to the input of a task what earlier runs have left.

    Raises:
        StoreError: when the memory does not answer.
        StoredStateError: when an entry of the memory cannot be read.
    """
    execution.input = await _create_learning(execution).load(execution.input)


async def learn(execution: TaskExecution, output: TaskOutput) -> None:
    """Leave an accepted output for later runs: in the memory, and with a reflection.

    Raises:
        StoreError: when the memory does not answer.
    """
    await _create_learning(execution).keep(execution.input, output)


async def learn_again(execution: TaskExecution, output: TaskOutput) -> None:
    """Leave what a completed task had left in an outbox that holds it, when the run continues."""
    if execution.outbox.holds and execution.plan.job.task.learns:
        await _create_learning(execution).keep_again(execution.input, output)


def _create_learning(execution: TaskExecution) -> TaskLearning:
    job = execution.plan.job
    model = job.runnable.model if isinstance(job.runnable, Agent) else job.model
    return TaskLearning(job.task, job.stores, model, execution.place, execution.outbox)


def find_learning_mistakes(tasks: Iterable[tuple[str, Task]], stores: LearningStores) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each scope without a declaration, and of reflection without a store.

    Args:
        tasks: the tasks with their places.
        stores: the stores of the ensemble.
    """
    declared = {} if stores.memory is None else stores.memory.scopes
    names = ", ".join(map(repr, declared)) or "none"
    for path, task in tasks:
        for number, scope in enumerate(task.memory):
            if scope not in declared:
                problem = f"the memory scope {scope!r} is not declared (declared: {names})"
                hint = did_you_mean(scope, declared)
                yield f"{path}.memory[{number}]", f"{problem}; add it to the ensemble's memory.{hint}"
        if task.reflection is not None and stores.reflections is None:
            yield f"{path}.reflect", "the ensemble has no store for it: add reflections=SqlReflections(...)"


def _identify(entry: ScopeEntry) -> tuple[str, str, str]:
    """Return what an entry shares with the output of which it tells."""
    return entry.run_id, entry.task_id, entry.content


@cache
def _adapter() -> TypeAdapter[Recollection]:
    return TypeAdapter(Recollection)


@cache
def _reflections() -> TypeAdapter[TaskReflection | None]:
    return TypeAdapter(TaskReflection | None)
