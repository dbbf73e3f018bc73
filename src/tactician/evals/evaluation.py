"""Evaluations: a data set of pydantic-evals, run with any Runnable as durable runs of a platform."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_evals import Dataset

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.evals.answer_cache import AnswerCache
from tactician.evals.comparison import compare_reports
from tactician.evals.entries import TrialEntry
from tactician.evals.journal import EvaluationJournal
from tactician.evals.report import EvalReport
from tactician.evals.scoring import TrialScorer, analyze_report
from tactician.evals.summaries import WaitingCase
from tactician.evals.telemetry import emit_results
from tactician.evals.trials import Trial, TrialRunner
from tactician.events.event import new_id
from tactician.llm import LlmOptions
from tactician.llm.options import NO_OPTIONS
from tactician.llm.usage import UsageTally
from tactician.platform import Platform
from tactician.runs import Budget
from tactician.runs.context.threads import run_blocking
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.suggestions import suggest_options


@suggest_options
async def evaluate(
    dataset: Dataset[Any, Any, Any],
    runnable: object,
    *,
    repeat: int = 1,
    max_parallel: int = 8,
    budget: Budget | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  # a limit of each case
    cache: str | Path | None = None,
    platform: Platform | Callable[[], Platform] | None = None,
    id: str | None = None,
    baseline: str | Path | EvalReport | None = None,
    seed: int | None = None,
    name: str | None = None,
    on_case: Callable[[TrialEntry], object] | None = None,
) -> EvalReport:
    """Run the cases of a data set with a Runnable, and score them.

    Each case is a run of its own, with a trace, a cost and, on a platform with a store, a record from which it
    continues. An evaluation with an `id` goes on where it was killed: a case that has ended is not run again.

    Args:
        dataset: the cases and the evaluators, of pydantic-evals. The inputs of a case are the input of the run; for a
            planned agent, a tuple stands for several objects.
        runnable: an agent, a planned agent, an ensemble or any other Runnable; or a name that the platform knows.
        repeat: number of times that each case runs.
        max_parallel: number of cases that run at once.
        budget: budget of the whole evaluation, with the calls of judges. Once it is used up, no further case begins,
            and the report has the cases that ended before.
        timeout: seconds that a case may take.
        cache: folder in which answers of models are kept, by the whole request; nothing is kept by default.
        platform: the platform that all cases share; a new one by default. A function gives each case a platform of
            its own.
        id: id of the evaluation; a new one by default.
        baseline: report to compare with, or the file that has it. The file is only read.
        seed: seed of what is random: resampling, simulated users, the order in which a judge sees two answers; 0 by
            default. With a seed that you give, the models that take one get one, too: each run of a case its own.
        name: name of the experiment; the name of the Runnable by default.
        on_case: called with each case that has ended.

    Raises:
        ConfigurationError: when a setting is not valid.
        StoredStateError: when the baseline, or an earlier part of the evaluation, cannot be read.
        RunConflictError: when another program runs an evaluation with the same id.
    """
    need_amount("repeat", repeat, least=1, whole=True)
    need_amount("max_parallel", max_parallel, least=1, whole=True)
    before = read_baseline(baseline)
    async with _open_platform(platform) as (main, create):
        label = runnable if isinstance(runnable, str) else main.as_runnable(runnable).name
        report = EvalReport(id=id or new_id(), name=name or label, dataset=dataset.name, runnable=label, seed=seed)
        report.started, report.expected = main.services.clock.time(), repeat * len(dataset.cases)
        journal = None if platform is None or callable(platform) else EvaluationJournal(main.store, report)
        target = main.find_agent(runnable) if isinstance(runnable, str) else runnable
        work = _Evaluation(dataset, report, journal, on_case)
        await work.begin(list_trials(dataset, repeat, seed, report.id if journal else ""))
        meter = work.create_meter(budget, main)
        answers = None if cache is None else AnswerCache(cache)
        scorer = TrialScorer(dataset, TrialRunner(create, target, meter, timeout, answers))
        await work.run(scorer, meter, max_parallel)
        await analyze_report(dataset, report)
        if before is not None:
            report.comparison = compare_reports(before, report, seed=seed or 0)
        if journal is not None:
            await journal.close()
        return report


def evaluate_sync(dataset: Dataset[Any, Any, Any], runnable: object, **options: Any) -> EvalReport:  # noqa: ANN401
    """Call `evaluate` from a program without an event loop."""
    return run_blocking(evaluate(dataset, runnable, **options))


class _Evaluation:
    """Evaluation that runs: the cases that are left, and those that have ended."""

    def __init__(
        self,
        dataset: Dataset[Any, Any, Any],
        report: EvalReport,
        journal: EvaluationJournal | None,
        on_case: Callable[[TrialEntry], object] | None,
    ) -> None:
        self._dataset, self._report, self._journal, self._on_case = dataset, report, journal, on_case
        self._places: dict[str, int] = {}
        self._done: dict[str, TrialEntry] = {}
        self._left: Iterator[Trial] = iter(())

    async def begin(self, trials: Iterable[Trial]) -> None:
        listed = list(trials)
        self._places = {trial.name: place for place, trial in enumerate(listed)}
        entries = [] if self._journal is None else await self._journal.open()
        self._done = {entry.name: entry for entry in entries if entry.name in self._places}
        self._left = (trial for trial in listed if trial.name not in self._done)

    def create_meter(self, budget: Budget | None, platform: Platform) -> BudgetMeter:
        """Return the meter of the evaluation: what earlier parts of it spent counts, too."""
        limits = budget or Budget()
        if limits.cost is not None:
            spent = sum(entry.cost or 0.0 for entry in self._done.values())
            limits = replace(limits, cost=max(0.0, limits.cost - spent))
        return BudgetMeter(limits, UsageTally(), platform.services.clock)

    async def run(self, scorer: TrialScorer, meter: BudgetMeter, max_parallel: int) -> None:
        report = self._report

        async def work() -> None:
            # Only as many cases as run at once are tasks: a data set of any size takes the memory of these.
            while report.stopped is None and (trial := next(self._left, None)) is not None:
                if (limit := meter.find_limit()) is not None:
                    report.stopped = limit
                    return
                await self._score(trial, scorer)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max_parallel):
                    group.create_task(work())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            report.entries = sorted(self._done.values(), key=lambda entry: self._places[entry.name])

    async def _score(self, trial: Trial, scorer: TrialScorer) -> None:
        outcome = await scorer.score(trial)
        if isinstance(outcome, WaitingCase):
            self._report.waiting = (*self._report.waiting, outcome)
        elif isinstance(outcome, str):
            self._report.stopped = outcome
        else:
            self._done[trial.name] = outcome
            emit_results(outcome, self._report.runnable)
            if self._journal is not None:
                await self._journal.add(outcome, len(self._done))
            if self._on_case is not None:
                self._on_case(outcome)


def list_trials(dataset: Dataset[Any, Any, Any], repeat: int, seed: int | None, key: str = "") -> Iterator[Trial]:
    """Yield the runs of the cases of a data set, named as pydantic-evals names them."""
    for number, case in enumerate(dataset.cases, 1):
        case_name = case.name or f"Case {number}"
        for repetition in range(1, repeat + 1):
            name = case_name if repeat == 1 else f"{case_name} [{repetition}/{repeat}]"
            chance = random.Random(f"{seed or 0}/{case_name}/{repetition}").getrandbits(32)
            options = NO_OPTIONS if seed is None else LlmOptions(seed=chance >> 1)
            yield Trial(name, case, case_name, repetition, key and f"{key}/{case_name}/{repetition}", chance, options)


def read_baseline(baseline: str | Path | EvalReport | None) -> EvalReport | None:
    """Return the report to compare with.

    Raises:
        ConfigurationError: when there is no such file.
        StoredStateError: when it cannot be read.
    """
    if baseline is None or isinstance(baseline, EvalReport):
        return baseline
    if not Path(baseline).exists():
        raise ConfigurationError(
            f"baseline={str(baseline)!r}: there is no such file. Make it once, from a report that you accept: "
            f"report.to_json({str(baseline)!r}), or tactician eval run FILE --output {baseline}"
        )
    return EvalReport.from_json(Path(baseline))


@asynccontextmanager
async def _open_platform(
    platform: Platform | Callable[[], Platform] | None,
) -> AsyncIterator[tuple[Platform, Callable[[], Platform]]]:
    """Yield the platform of the evaluation, and the function that returns the platform of each case."""
    if isinstance(platform, Platform):
        yield platform, lambda: platform
        return
    async with Platform() if platform is None else platform() as opened:
        yield opened, (lambda: opened) if platform is None else platform
