"""Reports and comparisons in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic_evals.reporting import EvaluationReport
from rich.console import Console
from rich.text import Text

from tactician.evals.differences import CaseComparison, ReportComparison
from tactician.evals.statistics import ScoreComparison
from tactician.grammar import format_count
from tactician.terminal_tables import print_table

_STYLES = {"worse": "red", "better": "green", "same": "dim"}
_SCORES: Final = ("score", "cases", "before", "after", "difference", "95 % interval", "verdict")
_MOST_CASES = 20


def print_report(
    evaluation: EvaluationReport[Any, Any, Any],
    unfinished: Iterable[str],
    comparison: ReportComparison | None,
    console: Console | None = None,
) -> None:
    """Print the report of pydantic-evals, what is unfinished, and a comparison."""
    shown = console or Console()
    shown.print(evaluation.render(include_reasons=True, width=shown.width))
    for line in unfinished:
        shown.print(Text(line, style="yellow"))
    if comparison is not None:
        print_comparison(comparison, shown)


def print_comparison(comparison: ReportComparison, console: Console | None = None) -> None:
    """Print a comparison: all scores, then the cases that changed most."""
    shown = console or Console()
    title = f"{comparison.before} → {comparison.after}"
    print_table(shown, _SCORES, list(_list_scores(comparison)), figures=_SCORES[1:6], title=title)
    changed = [*comparison.worsened, *comparison.improved]
    if changed:
        rows = [_list_case(case) for case in changed[:_MOST_CASES]]
        print_table(shown, ("case", "score", "before", "after"), rows, title="Cases that changed")
    if len(changed) > _MOST_CASES:
        shown.print(Text(f"and {format_count(len(changed) - _MOST_CASES, 'more change')}", style="dim"))
    if comparison.flaky:
        shown.print(Text(f"Flaky: {', '.join(comparison.flaky)}", style="yellow"))
    shown.print(Text(describe_verdict(comparison), style="bold"))


def describe_verdict(comparison: ReportComparison) -> str:
    """Return a comparison in a sentence."""
    if not comparison.scores:
        return f"{comparison.before} and {comparison.after} have no score of a case in common."
    for name, score in comparison.scores.items():
        if score.is_worse:
            return f"Worse: {name} fell from {score.before:.3g} to {score.after:.3g}, beyond the noise."
    for name, score in comparison.scores.items():
        if score.is_better:
            return f"Better: {name} rose from {score.before:.3g} to {score.after:.3g}, beyond the noise."
    return f"No difference beyond the noise in {format_count(_count_cases(comparison), 'case')}."


def _count_cases(comparison: ReportComparison) -> int:
    return max((score.cases for score in comparison.scores.values()), default=0)


def _list_scores(comparison: ReportComparison) -> Iterator[tuple[Text | str, ...]]:
    for name, score in comparison.scores.items():
        yield name, *_list_cells(score), Text(score.verdict, style=_STYLES[score.verdict])
    for name, measure in comparison.measures.items():
        yield Text(name, style="dim"), *_list_cells(measure), ""


def _list_cells(score: ScoreComparison) -> tuple[str, ...]:
    low, high = score.interval
    interval = "-" if score.cases == 1 else f"{low:+.3g} … {high:+.3g}"
    return str(score.cases), f"{score.before:.3g}", f"{score.after:.3g}", f"{score.difference:+.3g}", interval


def _list_case(case: CaseComparison) -> tuple[Text | str, ...]:
    style = "red" if case.difference < 0 else "green"
    return case.case, case.score, _join(case.before), Text(_join(case.after), style=style)


def _join(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.3g}" for value in values)
