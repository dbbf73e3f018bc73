"""Runs of cases: each is a run of its own, in the record of the platform, and continues after a kill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pydantic
from pydantic_evals import Case

from tactician.agents import BaseRunnable
from tactician.clock import Timeout
from tactician.errors import RunConflictError
from tactician.evals.answer_cache import AnswerCache
from tactician.evals.summaries import WaitingCase
from tactician.events import Event
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import LanguageModel, LlmOptions
from tactician.llm.options import NO_OPTIONS
from tactician.llm.usage import UsageTally
from tactician.platform import Platform
from tactician.runs import BudgetError, PendingRequest, RunContext, RunError, Runnable, RunResult, RunStatus
from tactician.runs.context.services import ModelFilter
from tactician.runs.life.creation import OWNER, RunKey
from tactician.runs.life.holding import LeaseTime
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore


@frozen
class Trial:
    """One run of a case.

    Attributes:
        name: its name, such as `"refund [2/5]"`.
        case: the case.
        case_name: the name of the case.
        repetition: 1 for the first run of the case.
        key: key that no other run of the store has; empty when the run is kept nowhere.
        seed: number for what is random in it.
        model_options: options of the calls of models, such as their seed.
    """

    name: str
    case: Case[Any, Any, Any]
    case_name: str
    repetition: int
    key: str
    seed: int
    model_options: LlmOptions = NO_OPTIONS


@frozen
class TrialSeed:
    """Number by which random choices in the run of a case are repeatable: `context.find(TrialSeed)`.

    Attributes:
        value: the same for the same case, repetition and seed of the evaluation.
    """

    value: int


@dataclass(slots=True)
class TrialProgress:
    """Course of a run of a case, as it is so far.

    Attributes:
        events: the events of the run, oldest first.
        run_id: id of the run.
        tally: what it used.
        seconds: how long it took.
        judging: the context for what evaluators run themselves.
        platform: the platform of the run.
        pending: what it waits for.
        waiting: judgements of people that it waits for.
        limit: the limit of the evaluation that ended it.
    """

    events: list[Event] = field(default_factory=list)
    run_id: str = ""
    tally: UsageTally = field(default_factory=UsageTally)
    seconds: float = 0.0
    judging: RunContext | None = None
    platform: Platform | None = None
    pending: tuple[PendingRequest, ...] = ()
    waiting: list[WaitingCase] = field(default_factory=list)
    limit: str | None = None


class TrialWaitingError(Exception):
    """The run of a case waits for somebody."""


class TrialRunner:
    """Runner of the cases of an evaluation.

    Args:
        create_platform: returns the platform on which a case runs.
        runnable: what is evaluated.
        meter: usage of the whole evaluation.
        timeout: seconds that a case may take.
        cache: answers of models of earlier evaluations.
    """

    def __init__(
        self,
        create_platform: Callable[[], Platform],
        runnable: object,
        meter: BudgetMeter,
        timeout: float | None,
        cache: AnswerCache | None,
    ) -> None:
        self._create_platform = create_platform
        self._runnable = runnable
        self.meter = meter
        self._timeout = timeout
        self._cache = cache

    async def run(self, trial: Trial, progress: TrialProgress) -> object:
        """Run a case, or continue its run, and return its output.

        Raises:
            TrialWaitingError: when it waits for somebody.
            TimeoutError: when it takes too long.
        """
        platform = self._create_platform()
        context = self.create_context(trial, platform, progress)
        began = context.clock.monotonic()
        try:
            with Timeout(self._timeout, context.clock):
                result = await self._run_or_continue(trial, platform, context, progress)
        except TimeoutError as error:
            await self._kill(trial, platform)
            raise TimeoutError(f"the case took longer than {format_count(self._timeout or 0, 'second')}") from error
        except RunError as error:
            progress.run_id = error.result.run_id or progress.run_id
            if isinstance(error, BudgetError) or error.result.status is RunStatus.TERMINATED:
                progress.limit = self.meter.find_limit()
            raise
        finally:
            progress.seconds += context.clock.monotonic() - began
            progress.tally = context.tally
            progress.run_id = progress.run_id or next((event.run_id for event in progress.events if event.run_id), "")
        progress.run_id, progress.pending = result.run_id, result.pending
        if result.status is RunStatus.WAITING:
            raise TrialWaitingError
        return result.output

    def create_context(self, trial: Trial, platform: Platform, progress: TrialProgress) -> RunContext:
        """Return the context of the run of a case, in which all that it spends counts for the evaluation."""
        surroundings: dict[type, object] = {TrialSeed: TrialSeed(trial.seed)}
        if trial.key:
            surroundings[RunKey] = RunKey(trial.key)
        base = judging = platform.context()
        if self._cache is not None or trial.model_options is not NO_OPTIONS:
            surroundings[ModelFilter] = models = self._create_filter(trial)
            judging = base.inside({ModelFilter: models})
        progress.judging = replace(judging, tally=UsageTally(self.meter.tally), meter=self.meter)
        progress.platform = platform
        context = base.with_listeners(progress.events.append).inside(surroundings)
        return replace(context, tally=UsageTally(self.meter.tally), meter=self.meter)

    def _create_filter(self, trial: Trial) -> ModelFilter:
        """Return the filter of the models of a case and of its judges."""
        cache = self._cache
        wrap = _pass_on if cache is None else partial(cache.wrap, repetition=trial.repetition)
        return ModelFilter(wrap, trial.model_options)

    async def _run_or_continue(
        self, trial: Trial, platform: Platform, context: RunContext, progress: TrialProgress
    ) -> RunResult[object]:
        runnable = platform.as_runnable(self._runnable)
        record = await _find_record(trial, platform)
        if record is None:
            return await runnable.run(trial.case.inputs, context=context)
        progress.run_id = record.run_id
        progress.seconds += record.header.spent["seconds"]
        progress.events[:] = await _load_events(platform, record.run_id)
        if record.status is RunStatus.COMPLETED:
            for usage in record.header.spent["usage"]:
                context.tally.add(usage)
            platform.register_internal(runnable)  # the output of a planned agent is read by its types
            output = _revive(runnable, await platform.output(record.run_id))
            return RunResult(output, tally=context.tally, run_id=record.run_id)
        return await _continue(runnable, record, context)

    async def _kill(self, trial: Trial, platform: Platform) -> None:
        """End the run of a case that takes too long, which any worker could continue otherwise."""
        if (record := await _find_record(trial, platform)) is not None:
            await platform.kill(record.run_id, "the case took too long")


def _pass_on(model: LanguageModel) -> LanguageModel:
    return model


async def _find_record(trial: Trial, platform: Platform) -> RunRecord | None:
    if not trial.key or not platform.is_durable:
        return None
    records = await RunStore(platform.store).find(idempotency_key=trial.key)
    return records[0] if records else None


async def _load_events(platform: Platform, run_id: str) -> list[Event]:
    return [event for recorded in await platform.events(run_id) if (event := recorded.event) is not None]


def _revive(runnable: Runnable, output: object) -> object:
    """Return the output of a run that another program completed, as its type, where that is known."""
    kind = runnable.output_type if isinstance(runnable, BaseRunnable) else None
    if kind is None or not isinstance(output, dict | list):
        return output
    revived: object = pydantic.TypeAdapter(kind).validate_python(output)
    return revived


async def _continue(runnable: Runnable, record: RunRecord, context: RunContext) -> RunResult[object]:
    """Continue the run of a program that died, once its lease has ended.

    Raises:
        RunConflictError: when it has ended in another way, or somebody else continues it.
    """
    if not isinstance(runnable, BaseRunnable):
        raise RunConflictError(f"{record.name} cannot continue its run {record.run_id}: its case needs a new id.")
    if record.has_ended:
        raise RunConflictError(
            f"The run {record.run_id} is {record.status}: {record.header.failure or 'see its trace'}"
        )
    seconds = context.services.find(LeaseTime).seconds
    if record.is_leased and record.lease_ends_at is not None:
        await context.clock.sleep(max(0.0, record.lease_ends_at - context.clock.time()) + 0.05)
    claimed = await RunStore(context.store).claim(OWNER, seconds, run_id=record.run_id)
    if claimed is None:
        raise RunConflictError(f"The run {record.run_id} is being continued by another worker.")
    return await runnable.continue_claimed(*claimed, context=context)
