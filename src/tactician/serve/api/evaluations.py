"""Operations on the evaluations of the store: their list, their cases, and what changed between two."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from tactician.evals import ScoreComparison
from tactician.evals.statistics import resample_mean
from tactician.evals.summaries import EVALUATIONS, list_evaluations, read_summary
from tactician.extras import require_extra
from tactician.serve.api.forms.evaluation_forms import (
    CaseChangeForm,
    ComparisonForm,
    DifferenceForm,
    EvaluationDetailsForm,
    EvaluationForm,
    EvaluationsForm,
    FigureForm,
    ResultForm,
    TrialForm,
    WaitingCaseForm,
)
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.serving.operations import ApiOperation, Call, count_up_to
from tactician.serve.problems import ApiError

if TYPE_CHECKING:
    from tactician.evals import EvalReport, ReportComparison
    from tactician.evals.entries import TrialEntry
    from tactician.evals.summaries import EvaluationSummary

_MOST: Final = 1000
_LONGEST: Final = 4_000
"""Characters of a text in a table: the page of the run has all of it."""


async def list_all(call: Call) -> EvaluationsForm:
    """Return the evaluations of the store, the newest first."""
    limit = call.find_number("limit", 100, _MOST)
    listed = await list_evaluations(call.server.platform.store, limit)
    return EvaluationsForm(evaluations=tuple(_show_summary(summary, call.viewer) for summary in listed))


async def show_evaluation(call: Call) -> EvaluationDetailsForm:
    """Return an evaluation with its cases, as far as it is."""
    evaluation_id = call.find_id("evaluation_id")
    document = await call.server.platform.store.load(EVALUATIONS, evaluation_id)
    if document is None:
        raise _not_found(evaluation_id)
    report = await _load(call, evaluation_id)
    shown = _show_summary(read_summary(document), call.viewer)
    return await asyncio.to_thread(_show_report, report, shown, call.viewer)


async def compare_evaluations(call: Call) -> ComparisonForm:
    """Return what changed in an evaluation since an earlier one."""
    after = await _load(call, call.find_id("evaluation_id"))
    before = await _load(call, call.request.query_params.get("baseline", ""))
    return await asyncio.to_thread(_compare, before, after)


async def _load(call: Call, evaluation_id: str) -> EvalReport:
    with require_extra("evals", "An evaluation needs"):
        from tactician.evals.journal import load_report
    report = await load_report(call.server.platform.store, evaluation_id)
    if report is None:
        raise _not_found(evaluation_id)
    return report


def _compare(before: EvalReport, after: EvalReport) -> ComparisonForm:
    from tactician.evals import compare_reports
    from tactician.evals.terminal import describe_verdict

    # Resampling takes a second for some thousand cases.
    compared: ReportComparison = compare_reports(before, after)
    return ComparisonForm.show(
        compared,
        verdict=describe_verdict(compared),
        scores=tuple(_show_differences(compared.scores)),
        measures=tuple(_show_differences(compared.measures)),
        changed=tuple(map(CaseChangeForm.show, (*compared.worsened, *compared.improved))),
    )


def _show_differences(compared: Mapping[str, ScoreComparison]) -> Iterator[DifferenceForm]:
    for name, score in compared.items():
        low, high = map(_bound, score.interval)
        yield DifferenceForm.show(score, name=name, low=low, high=high)


def _show_report(report: EvalReport, evaluation: EvaluationForm, viewer: Viewer) -> EvaluationDetailsForm:
    scores = {name: report.list_scores(name) for name in report.score_names}
    return EvaluationDetailsForm(
        evaluation=evaluation,
        scores=tuple(_show_figure(name, values) for name, values in scores.items()),
        measures=tuple(_show_figure(name, values) for name, values in report.list_measures() if values),
        trials=tuple(_show_trial(entry, viewer) for entry in report.entries),
    )


def _show_figure(name: str, values: Mapping[str, Sequence[float]]) -> FigureForm:
    means = [fmean(each) for each in values.values()]
    low, high = map(_bound, resample_mean(means))
    return FigureForm(name=name, cases=len(means), mean=fmean(means), low=low, high=high)


def _show_trial(entry: TrialEntry, viewer: Viewer) -> TrialForm:
    case = entry.passed or entry.failed
    results = {} if entry.passed is None else {**entry.passed.assertions, **entry.passed.scores}
    shown = tuple(
        ResultForm(name=name, value=result.value, reason=_write(result.reason, viewer))
        for name, result in results.items()
    )
    return TrialForm.show(
        entry,
        results=shown,
        error=None if entry.failed is None else viewer.mask(entry.failed.error_message),
        input=_write(None if case is None else case.inputs, viewer) or "",
        expected=_write(None if case is None else case.expected_output, viewer),
        output=None if entry.passed is None else _write(entry.passed.output, viewer),
    )


def _write(value: object, viewer: Viewer) -> str | None:
    """Return a value as text, with masks for secrets; `None` for nothing, and for what is not captured."""
    if value is None or not viewer.sees_content:
        return None
    text = viewer.mask(value if isinstance(value, str) else to_json(value, indent=2, fallback=repr).decode())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _show_summary(summary: EvaluationSummary, viewer: Viewer) -> EvaluationForm:
    waiting = tuple(
        WaitingCaseForm.show(case, prompts=tuple(map(viewer.mask, case.prompts))) for case in summary.waiting
    )
    stopped = None if summary.stopped is None else viewer.mask(summary.stopped)
    return EvaluationForm.show(summary, waiting=waiting, stopped=stopped)


def _bound(value: float) -> float | None:
    return value if isfinite(value) else None


def _not_found(evaluation_id: str) -> ApiError:
    return ApiError(404, f"There is no evaluation with the id {evaluation_id!r}.")


EVALUATION_OPERATIONS: Final = (
    ApiOperation(
        "GET",
        "/api/evaluations",
        list_all,
        "List the evaluations of the store",
        EvaluationsForm,
        query={"limit": f"most evaluations, up to {_MOST}"},
        query_types={"limit": count_up_to(_MOST)},
    ),
    ApiOperation(
        "GET", "/api/evaluations/{evaluation_id}", show_evaluation, "Show an evaluation", EvaluationDetailsForm
    ),
    ApiOperation(
        "GET",
        "/api/evaluations/{evaluation_id}/comparison",
        compare_evaluations,
        "Compare an evaluation with an earlier one",
        ComparisonForm,
        query={"baseline": "id of the earlier evaluation"},
    ),
)
