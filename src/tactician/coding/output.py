"""Output of coding agents: the summary of the model, and what was measured."""

from __future__ import annotations

from tactician.coding.commands.suite_report import SuiteReport
from tactician.coding.workspaces.opened import ChangedFile
from tactician.frozen import frozen


@frozen
class SuiteSummary:
    """Result of a run of the tests.

    Attributes:
        passed: the names of the tests that passed.
        failed: the names of the tests that failed.
        is_measured: false when there are no tests, or they may not be run without asking.
    """

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    is_measured: bool = False

    @classmethod
    def of(cls, report: SuiteReport | None) -> SuiteSummary:
        """Return the summary of a report."""
        return cls() if report is None else cls(report.passed, report.failed, True)


@frozen
class MeasuredTests:
    """Tests before and after the work of an agent."""

    before: SuiteSummary = SuiteSummary()
    after: SuiteSummary = SuiteSummary()

    def find_problem(self) -> str | None:
        """Return why the work is not done: tests that failed still fail, tests that passed fail or are gone."""
        failed, passed = set(self.after.failed), set(self.after.passed)
        left = [name for name in self.before.failed if name in failed]
        broken = sorted(failed - set(self.before.failed))
        names_tests = bool(passed or self.before.passed)
        gone = [name for name in self.before.failed if name not in failed | passed] if names_tests else []
        gone += [name for name in self.before.passed if name not in failed | passed] if names_tests else []
        problems = (("still failing", left), ("failing since", broken), ("not run any more", gone))
        return "; ".join(f"{verb}: {', '.join(names[:20])}" for verb, names in problems if names) or None


@frozen
class CodingOutput:
    """Output of a coding agent. Only the summary is the model's; all else is measured.

    Attributes:
        summary: what the model says about its work.
        files: the files that differ from the beginning.
        tests: the tests before and after the work.
        branch: the branch with the work; empty, when the workspace has none.
        path: the folder with the work.
    """

    summary: str
    files: tuple[ChangedFile, ...] = ()
    tests: MeasuredTests = MeasuredTests()
    branch: str = ""
    path: str = ""
