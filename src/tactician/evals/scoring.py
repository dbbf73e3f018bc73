"""Scores of cases: pydantic-evals runs the evaluators of a data set on the run of a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from pydantic_evals import Case, CaseLifecycle, Dataset
from pydantic_evals.evaluators import EvaluatorContext, ReportEvaluatorContext
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from tactician.evals.context import EvalContext
from tactician.evals.entries import TrialEntry
from tactician.evals.report import EvalReport
from tactician.evals.summaries import WaitingCase
from tactician.evals.trials import Trial, TrialProgress, TrialRunner
from tactician.runs import BudgetError

Prepare = Callable[[EvaluatorContext[Any, Any, Any]], EvalContext]


class _PreparedCase(CaseLifecycle[Any, Any, Any]):
    """Case whose evaluators see the run behind it."""

    def __init__(self, case: Case[Any, Any, Any], prepare: Prepare) -> None:
        super().__init__(case)
        self._prepare = prepare

    async def prepare_context(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorContext[Any, Any, Any]:
        """Return the context with the run."""
        return self._prepare(ctx)


def extend_context(ctx: EvaluatorContext[Any, Any, Any], **run: Any) -> EvalContext:  # noqa: ANN401
    """Return the context of pydantic-evals with what belongs to the run."""
    return EvalContext(**{each.name: getattr(ctx, each.name) for each in fields(EvaluatorContext)}, **run)


async def score_case(
    dataset: Dataset[Any, Any, Any],
    case: Case[Any, Any, Any],
    name: str,
    task: Callable[[Any], Any],
    prepare: Prepare,
    source: str | None = None,
) -> ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]:
    """Return what pydantic-evals reports of a single case.

    Args:
        dataset: the data set, for its evaluators.
        case: the case.
        name: name of the run of the case.
        task: gives the output.
        prepare: adds the run to the context of the evaluators.
        source: name of the case, where it runs more than once.
    """
    alone = Dataset[Any, Any, Any](name=dataset.name, cases=[case], evaluators=dataset.evaluators)
    report = await alone.evaluate(task, progress=False, lifecycle=lambda each: _PreparedCase(each, prepare))
    reported = report.cases[0] if report.cases else report.failures[0]
    return replace(reported, name=name, source_case_name=source)


class TrialScorer:
    """Scorer of the runs of cases.

    Args:
        dataset: the data set.
        runner: runs the cases.
    """

    def __init__(self, dataset: Dataset[Any, Any, Any], runner: TrialRunner) -> None:
        self._dataset = dataset
        self._runner = runner

    async def score(self, trial: Trial) -> TrialEntry | WaitingCase | str:
        """Run a case and score it; return what it waits for, or which limit of the evaluation ended it."""
        progress = TrialProgress()

        async def run(_: object) -> object:
            return await self._runner.run(trial, progress)

        def prepare(ctx: EvaluatorContext[Any, Any, Any]) -> EvalContext:
            return self._prepare(ctx, trial, progress)

        source = None if trial.name == trial.case_name else trial.case_name
        reported = await score_case(self._dataset, trial.case, trial.name, run, prepare, source)
        if (limit := progress.limit or self._find_limit(reported)) is not None:
            return limit
        if progress.pending:
            prompts = (request.prompt.partition("\n")[0] for request in progress.pending)
            return WaitingCase(trial.name, progress.run_id, tuple(prompts))
        if progress.waiting:
            return replace(progress.waiting[0], name=trial.name)
        return _create_entry(trial, progress, reported)

    def _find_limit(self, reported: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]) -> str | None:
        """Return the limit of the evaluation that ended the work of a judge, if one did."""
        failures = reported.evaluator_failures if isinstance(reported, ReportCase) else []
        is_over = any(failure.error_type == BudgetError.__name__ for failure in failures)
        return self._runner.meter.find_limit() if is_over else None

    def _prepare(self, ctx: EvaluatorContext[Any, Any, Any], trial: Trial, progress: TrialProgress) -> EvalContext:
        used = progress.tally.total
        ctx.duration = progress.seconds
        ctx.attributes["run_id"] = progress.run_id
        ctx.metrics |= {
            "requests": used.requests,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
        }
        if used.cost is not None:
            ctx.metrics["cost"] = used.cost
        return extend_context(
            ctx,
            run_id=progress.run_id,
            events=tuple(progress.events),
            tally=progress.tally,
            run=progress.judging,
            platform=progress.platform,
            key=trial.key,
            waiting=progress.waiting,
            seed=trial.seed,
        )


def _create_entry(
    trial: Trial, progress: TrialProgress, reported: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]
) -> TrialEntry:
    used = progress.tally.total
    return TrialEntry(
        name=trial.name,
        case=trial.case_name,
        repetition=trial.repetition,
        run_id=progress.run_id,
        seconds=progress.seconds,
        cost=used.cost,
        tokens=used.total_tokens,
        passed=reported if isinstance(reported, ReportCase) else None,
        failed=reported if isinstance(reported, ReportCaseFailure) else None,
    )


async def analyze_report(dataset: Dataset[Any, Any, Any], report: EvalReport) -> None:
    """Add to a report what the evaluators of whole reports of a data set find."""
    for evaluator in dataset.report_evaluators:
        context = ReportEvaluatorContext(name=report.name, report=report.evaluation, experiment_metadata=None)
        analyses = await evaluator.evaluate_async(context)
        report.analyses.extend(analyses if isinstance(analyses, list) else [analyses])
