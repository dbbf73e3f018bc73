"""Reports of evaluations: what pydantic-evals reports of cases, the runs behind them, and a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pydantic
from pydantic_core import to_json
from pydantic_evals.reporting import EvaluationReport, ReportAnalysis, ReportCase, ReportCaseFailure

from tactician.errors import StoredStateError
from tactician.evals.differences import ReportComparison
from tactician.evals.entries import TrialEntry
from tactician.evals.summaries import WaitingCase
from tactician.grammar import format_count

if TYPE_CHECKING:
    from rich.console import Console

FORMAT: Final = 1


@dataclass(kw_only=True)
class EvalReport:
    """Report of an evaluation.

    Attributes:
        id: id of the evaluation.
        name: name of the experiment; by default the name of what was evaluated.
        dataset: name of the data set.
        runnable: name of what was evaluated.
        entries: the runs of the cases, in the order of the data set.
        expected: number of runs that a complete evaluation has.
        stopped: why the evaluation ended before all cases had run; `None` when all of them have.
        waiting: the runs that wait for somebody.
        started: seconds since the epoch.
        seed: the seed that models got, each run of a case its own; `None` when they got none.
        analyses: what evaluators of whole reports found.
        comparison: the comparison with the baseline, if there was one.
    """

    id: str
    name: str
    dataset: str
    runnable: str
    entries: list[TrialEntry] = field(default_factory=list)
    expected: int = 0
    stopped: str | None = None
    waiting: tuple[WaitingCase, ...] = ()
    started: float = 0.0
    seed: int | None = None
    analyses: list[ReportAnalysis] = field(default_factory=list, repr=False)
    comparison: ReportComparison | None = field(default=None, repr=False)

    @property
    def is_complete(self) -> bool:
        """True when all runs of all cases have ended and were evaluated."""
        return self.stopped is None and not self.waiting and len(self.entries) >= self.expected

    @property
    def is_worse(self) -> bool:
        """True when the report is worse than its baseline, beyond the noise; false without a baseline."""
        return self.comparison is not None and self.comparison.is_worse

    @property
    def cases(self) -> list[ReportCase[Any, Any, Any]]:
        """The reports by pydantic-evals of the runs that gave an output."""
        return [entry.passed for entry in self.entries if entry.passed is not None]

    @property
    def failures(self) -> list[ReportCaseFailure[Any, Any, Any]]:
        """The reports by pydantic-evals of the runs that raised an error."""
        return [entry.failed for entry in self.entries if entry.failed is not None]

    @property
    def cost(self) -> float | None:
        """US dollars of all runs, as far as prices are known; `None` when no price is."""
        costs = [entry.cost for entry in self.entries if entry.cost is not None]
        return sum(costs) if costs else None

    @property
    def case_names(self) -> list[str]:
        """The names of the cases, each once."""
        return list(dict.fromkeys(entry.case for entry in self.entries))

    @cached_property
    def evaluation(self) -> EvaluationReport[Any, Any, Any]:
        """The report of pydantic-evals, for its averages, its analyses and all that reads such reports."""
        return EvaluationReport(
            name=self.name,
            cases=self.cases,
            failures=self.failures,
            analyses=self.analyses,
            dataset_name=self.dataset,
        )

    def print(self, console: Console | None = None) -> None:
        """Print the report to the terminal: the table of pydantic-evals, what is unfinished, and the comparison."""
        from tactician.evals.terminal import print_report

        print_report(self.evaluation, self.list_unfinished(), self.comparison, console)

    def list_unfinished(self) -> list[str]:
        """Return why the report is not complete, and what waits, in sentences."""
        lines = []
        if self.stopped is not None:
            lines.append(f"Stopped after {len(self.entries)} of {format_count(self.expected, 'run')}: {self.stopped}.")
        waits = "{} waits: {} (tactician respond {})"
        lines += [waits.format(case.name, " ".join(case.prompts), case.run_id) for case in self.waiting]
        return lines

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as a web page that needs no network, and write it to a file, unless the path is `None`."""
        from tactician.evals.page import render_report
        from tactician.evals.terminal import describe_verdict

        counted = f"{format_count(len(self.entries), 'run')} of {format_count(len(self.case_names), 'case')}"
        facts = [f"{counted} with {self.runnable}.", *self.list_unfinished()]
        verdict = "" if self.comparison is None else describe_verdict(self.comparison)
        title = f"{self.name}: {self.dataset}"
        return _write(render_report(title, facts, self.entries, self.comparison, verdict), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as JSON, and write it to a file, unless the path is `None`."""
        fields = (
            "id",
            "name",
            "dataset",
            "runnable",
            "expected",
            "stopped",
            "waiting",
            "started",
            "seed",
            "analyses",
            "entries",
        )
        data = {"format": FORMAT, **{name: getattr(self, name) for name in fields}}
        return _write(to_json(data, indent=2, fallback=repr).decode(), path)

    @classmethod
    def from_json(cls, data: str | bytes | Path) -> EvalReport:
        """Return the report that `to_json` wrote.

        Args:
            data: JSON text, or the path of a file.

        Raises:
            StoredStateError: when it is not a report, or a newer program has written it.
            OSError: when the file cannot be read.
        """
        place = f"The report {data}" if isinstance(data, Path) else "The report"
        try:
            stored = _StoredReport.model_validate_json(data.read_bytes() if isinstance(data, Path) else data)
        except pydantic.ValidationError as error:
            raise StoredStateError(f"{place} cannot be read: {error}") from error
        return cls(**{name: getattr(stored, name) for name in _StoredReport.model_fields if name != "format"})

    def list_scores(self, name: str) -> dict[str, list[float]]:
        """Return the values of a score by case, in the order of the runs. A run that failed has the value 0."""
        values: dict[str, list[float]] = {}
        for entry in self.entries:
            if entry.failed is not None:
                values.setdefault(entry.case, []).append(0.0)
            elif name in entry.scores:
                values.setdefault(entry.case, []).append(entry.scores[name])
        return values

    def list_measures(self) -> Iterator[tuple[str, dict[str, list[float]]]]:
        """Yield the cost, the tokens and the seconds by case, as far as they are known."""
        for name in ("cost", "tokens", "seconds"):
            values: dict[str, list[float]] = {}
            for entry in self.entries:
                if (value := getattr(entry, name)) is not None:
                    values.setdefault(entry.case, []).append(float(value))
            yield name, values

    @property
    def score_names(self) -> list[str]:
        """The names of all scores and assertions."""
        return list(dict.fromkeys(name for entry in self.entries for name in entry.scores))


class _StoredReport(pydantic.BaseModel):
    """Form of a report in JSON."""

    model_config = pydantic.ConfigDict(extra="forbid")

    format: int = pydantic.Field(ge=1, le=FORMAT)
    id: str
    name: str
    dataset: str
    runnable: str
    expected: int
    stopped: str | None
    waiting: tuple[WaitingCase, ...] = ()
    started: float = 0.0
    seed: int | None = None
    analyses: list[ReportAnalysis] = []
    entries: list[TrialEntry]


def _write(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, "utf-8")
    return text
