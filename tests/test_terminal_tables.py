"""Tables in terminals of any width."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from tactician.evals.differences import ReportComparison
from tactician.evals.statistics import ScoreComparison
from tactician.evals.terminal import print_comparison
from tactician.terminal_tables import print_table

COLUMNS = ("kind", "name", "agent", "runs", "success", "by model")
ROW = (
    "action",
    "verify_customer_identity",
    "com.acme.RefundAgent",
    "1204",
    "100%",
    "openai:gpt-5-mini: 1200\nlocal: 4",
)


def show(width: int) -> str:
    console = Console(width=width, file=StringIO())
    print_table(console, COLUMNS, [ROW, (Text("模型"), *ROW[1:5], "")], figures=COLUMNS[3:5], title="Measured so far")
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [30, *range(60, 140, 4)])
def test_no_word_is_cut_at_any_width(width: int) -> None:
    shown = show(width)
    words = {word for text in (*COLUMNS, *ROW, "模型", "Measured") for word in text.split()}
    assert {word for word in words if word not in shown} == set()
    assert "…" not in shown


def test_a_table_that_does_not_fit_is_lines_with_headings() -> None:
    assert show(60).splitlines()[:4] == [
        "Measured so far",
        "kind      action",
        "name      verify_customer_identity",
        "agent     com.acme.RefundAgent",
    ]
    assert "┃" in show(120)


def test_a_comparison_of_reports_cuts_no_score_at_80_columns() -> None:
    score = ScoreComparison(12, 0.5, 0.75, 0.25, (0.0625, 0.4375), 0.01, is_better=True)
    console = Console(width=80, file=StringIO())
    print_comparison(ReportComparison("before", "after", {"politeness_of_the_last_answer": score}, {}, ()), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("politeness_of_the_last_answer", "+0.0625 … +0.438", "+0.25"):
        assert text in shown
