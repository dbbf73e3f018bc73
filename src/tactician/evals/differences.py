"""Differences between two reports."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from tactician.evals.statistics import ScoreComparison
from tactician.frozen import frozen


@frozen
class CaseComparison:
    """Change of a score of a case.

    Attributes:
        case: name of the case.
        score: name of the score.
        before: values of its runs before.
        after: values of its runs after.
    """

    case: str
    score: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Change of the mean."""
        return fmean(self.after) - fmean(self.before)

    @property
    def is_flaky(self) -> bool:
        """True when runs of the same case differ: then a change of it says little."""
        return len({*self.before}) > 1 or len({*self.after}) > 1


@frozen
class ReportComparison:
    """Comparison of two reports of the same data set.

    Attributes:
        before: name of the earlier report.
        after: name of the later report.
        scores: the comparison of each score and assertion; of several, each is held to a stricter level, so that all
            together raise a false alarm no more often than one.
        measures: the comparison of the cost, the tokens and the seconds of a case. They are not part of the verdict.
        cases: the change of each score of each case.
        missing: cases that only the earlier report has.
        added: cases that only the later report has.
    """

    before: str
    after: str
    scores: Mapping[str, ScoreComparison]
    measures: Mapping[str, ScoreComparison]
    cases: tuple[CaseComparison, ...]
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """True when a score is worse beyond the noise."""
        return any(score.is_worse for score in self.scores.values())

    @property
    def is_better(self) -> bool:
        """True when a score is better beyond the noise, and none is worse."""
        return not self.is_worse and any(score.is_better for score in self.scores.values())

    @property
    def improved(self) -> tuple[CaseComparison, ...]:
        """The cases with a higher score than before, the largest change first."""
        return tuple(sorted((case for case in self.cases if case.difference > 0), key=lambda case: -case.difference))

    @property
    def worsened(self) -> tuple[CaseComparison, ...]:
        """The cases with a lower score than before, the largest change first."""
        return tuple(sorted((case for case in self.cases if case.difference < 0), key=lambda case: case.difference))

    @property
    def flaky(self) -> tuple[str, ...]:
        """The names of the cases whose runs differ."""
        return tuple(dict.fromkeys(case.case for case in self.cases if case.is_flaky))
