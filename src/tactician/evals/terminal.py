"""Reports and comparisons in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_evals.reporting import EvaluationReport
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tactician.evals.differences import CaseComparison, ReportComparison
from tactician.evals.statistics import ScoreComparison
from tactician.grammar import format_count

_STYLES = {"worse": "red", "better": "green", "same": "dim"}
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
    for part in _draw_comparison(comparison):
        shown.print(part)


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


def _draw_comparison(comparison: ReportComparison) -> Iterator[RenderableType]:
    table = Table(title=f"{comparison.before} → {comparison.after}", title_justify="left")
    for column in ("score", "cases", "before", "after", "difference", "95 % interval", "verdict"):
        table.add_column(column, justify="left" if column in ("score", "verdict") else "right")
    for name, score in comparison.scores.items():
        table.add_row(Text(name), *_list_cells(score), Text(score.verdict, style=_STYLES[score.verdict]))
    for name, measure in comparison.measures.items():
        table.add_row(Text(name, style="dim"), *_list_cells(measure), "")
    yield table
    changed = [*comparison.worsened, *comparison.improved]
    if changed:
        yield _draw_cases(changed[:_MOST_CASES])
    if len(changed) > _MOST_CASES:
        yield Text(f"and {format_count(len(changed) - _MOST_CASES, 'more change')}", style="dim")
    if comparison.flaky:
        yield Text(f"Flaky: {', '.join(comparison.flaky)}", style="yellow")
    yield Text(describe_verdict(comparison), style="bold")


def _list_cells(score: ScoreComparison) -> tuple[str, ...]:
    low, high = score.interval
    interval = "-" if score.cases == 1 else f"{low:+.3g} … {high:+.3g}"
    return str(score.cases), f"{score.before:.3g}", f"{score.after:.3g}", f"{score.difference:+.3g}", interval


def _draw_cases(cases: list[CaseComparison]) -> Table:
    table = Table(title="Cases that changed", title_justify="left")
    for column in ("case", "score", "before", "after"):
        table.add_column(column)
    for case in cases:
        style = "red" if case.difference < 0 else "green"
        table.add_row(Text(case.case), Text(case.score), _join(case.before), Text(_join(case.after), style=style))
    return table


def _join(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.3g}" for value in values)
