"""Cases of data sets as tests: `@pytest.mark.eval_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_evals import Case, Dataset

from tactician.evals import evaluate, load_dataset
from tactician.evals.evaluation import list_trials
from tactician.runs.context.threads import run_blocking

if TYPE_CHECKING:
    from tactician.evals import EvalReport


@dataclass(frozen=True)
class EvalCase:
    """Case of a data set, as the fixture `eval_case` of a test.

    Attributes:
        name: name of the case.
        case: the case.
        dataset: its data set, whose evaluators count too.
    """

    name: str
    case: Case[Any, Any, Any]
    dataset: Dataset[Any, Any, Any]

    async def check(self, runnable: object, **options: Any) -> EvalReport:  # noqa: ANN401
        """Run the case, and return its report.

        Args:
            runnable: what is evaluated.
            **options: options of `tactician.evals.evaluate`.

        Raises:
            AssertionError: when the run fails, an evaluator raises, or an assertion does not hold; with all reasons.
        """
        alone = Dataset[Any, Any, Any](name=self.dataset.name, cases=[self.case], evaluators=self.dataset.evaluators)
        report = await evaluate(alone, runnable, **options)
        if problems := list(_find_problems(report)):
            raise AssertionError(f"{self.name}: {'; '.join(problems)}")
        return report

    def check_sync(self, runnable: object, **options: Any) -> EvalReport:  # noqa: ANN401
        """Call `check` from a test without an event loop."""
        return run_blocking(self.check(runnable, **options))


def list_eval_cases(source: Dataset[Any, Any, Any] | str | Path, folder: Path) -> list[EvalCase]:
    """Return the cases of a data set, or of a file beside the tests."""
    dataset = source if isinstance(source, Dataset) else load_dataset(folder / source)
    return [EvalCase(trial.name, trial.case, dataset) for trial in list_trials(dataset, 1, 0)]


def _find_problems(report: EvalReport) -> Iterator[str]:
    if not report.is_complete:
        yield " ".join(report.list_unfinished())
    for failure in report.failures:
        yield failure.error_message
    for case in report.cases:
        for problem in case.evaluator_failures:
            yield f"{problem.name}: {problem.error_message}"
        for name, result in case.assertions.items():
            if not result.value:
                yield f"{name} does not hold" + (f": {result.reason}" if result.reason else "")
