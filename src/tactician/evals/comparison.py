"""Comparison of two reports: what got better, what got worse, and what is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from statistics import fmean
from typing import Final

from tactician.evals.differences import CaseComparison, ReportComparison
from tactician.evals.report import EvalReport
from tactician.evals.statistics import CONFIDENCE, ScoreComparison, compare_scores

PASSED: Final = "passed"
"""Name of the score for data sets without evaluators: 1 for a run with an output, 0 for a run that failed."""


def compare_reports(
    before: EvalReport, after: EvalReport, *, seed: int = 0, confidence: float = CONFIDENCE
) -> ReportComparison:
    """Compare two reports case by case, and in total.

    Args:
        before: the earlier report, such as a baseline.
        after: the later report.
        seed: seed of the resampling.
        confidence: probability that none of the scores is called worse or better by chance.
    """
    old, new = _list_values(before), _list_values(after)
    names = [name for name in old if name in new and old[name].keys() & new[name].keys()]
    strict = 1 - (1 - confidence) / max(1, len(names))
    scores = {name: _compare(old[name], new[name], seed, strict) for name in names}
    measures = {
        name: _compare(values, measured, seed, confidence)
        for (name, values), (_, measured) in zip(before.list_measures(), after.list_measures(), strict=True)
        if values.keys() & measured.keys()
    }
    earlier, later = set(before.case_names), set(after.case_names)
    return ReportComparison(
        before.name,
        after.name,
        scores,
        measures,
        tuple(chain.from_iterable(_compare_cases(name, old[name], new[name]) for name in names)),
        missing=tuple(name for name in before.case_names if name not in later),
        added=tuple(name for name in after.case_names if name not in earlier),
    )


def _compare(
    before: Mapping[str, list[float]], after: Mapping[str, list[float]], seed: int, confidence: float
) -> ScoreComparison:
    shared = [case for case in before if case in after]
    means = [[fmean(values[case]) for case in shared] for values in (before, after)]
    return compare_scores(means[0], means[1], seed=seed, confidence=confidence)


def _compare_cases(
    score: str, before: Mapping[str, list[float]], after: Mapping[str, list[float]]
) -> Iterator[CaseComparison]:
    for case, values in before.items():
        if case in after:
            yield CaseComparison(case, score, tuple(values), tuple(after[case]))


def _list_values(report: EvalReport) -> dict[str, dict[str, list[float]]]:
    """Return the values of each score by case."""
    if names := report.score_names:
        return {name: report.list_scores(name) for name in names}
    passed: dict[str, list[float]] = {}
    for entry in report.entries:
        passed.setdefault(entry.case, []).append(0.0 if entry.failed is not None else 1.0)
    return {PASSED: passed}
