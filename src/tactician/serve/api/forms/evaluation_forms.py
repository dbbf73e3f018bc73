"""Forms of evaluations: their cases, their scores with intervals, and what changed between two."""

from __future__ import annotations

from tactician.documents.forms import form_of
from tactician.evals import ScoreComparison
from tactician.evals.differences import CaseComparison
from tactician.evals.summaries import EvaluationSummary, WaitingCase
from tactician.serve.api.forms.forms import Form


@form_of(WaitingCase)
class WaitingCaseForm(Form):
    """Run of a case that waits for somebody."""


@form_of(EvaluationSummary)
class EvaluationForm(Form):
    """Evaluation without its cases. Its status is running, complete, waiting or stopped."""

    waiting: tuple[WaitingCaseForm, ...] = ()


class EvaluationsForm(Form):
    """Evaluations of the store, the newest first."""

    evaluations: tuple[EvaluationForm, ...]


class ResultForm(Form):
    """Result of an evaluator: a score, or true or false for an assertion."""

    name: str
    value: bool | float
    reason: str | None


class TrialForm(Form):
    """One run of a case, with its texts as far as a table shows them.

    Attributes:
        name: name of the run of the case.
        case: name of the case.
        repetition: 1 for the first run of the case.
        run_id: id of the run, with its plan and its trace; empty when it is kept nowhere.
        seconds: how long it took.
        cost: US dollars; null when a price is not known.
        tokens: input and output tokens.
        results: results of the evaluators.
        error: why the run failed; null when it gave an output.
        input: the input.
        expected: the expected output, if the case has one.
        output: the output.
    """

    name: str
    case: str
    repetition: int
    run_id: str
    seconds: float
    cost: float | None
    tokens: int
    results: tuple[ResultForm, ...]
    error: str | None
    input: str
    expected: str | None
    output: str | None


class FigureForm(Form):
    """Mean of a figure over the cases, and the 95 % interval of the mean, which a single case does not have."""

    name: str
    cases: int
    mean: float
    low: float | None
    high: float | None


class EvaluationDetailsForm(Form):
    """Evaluation with its runs, the means of its scores, and its cost, tokens and seconds."""

    evaluation: EvaluationForm
    scores: tuple[FigureForm, ...]
    measures: tuple[FigureForm, ...]
    trials: tuple[TrialForm, ...]


@form_of(ScoreComparison, without=("interval", "is_worse", "is_better"))
class DifferenceForm(Form):
    """Change of a figure between two evaluations: its interval, and what it means beyond the noise."""

    name: str
    low: float | None
    high: float | None
    verdict: str


@form_of(CaseComparison)
class CaseChangeForm(Form):
    """Change of a score of a case."""

    is_flaky: bool


class ComparisonForm(Form):
    """What changed between two evaluations.

    Attributes:
        verdict: the comparison in a sentence.
        is_worse: true when a score is worse beyond the noise.
        is_better: true when a score is better beyond the noise, and none is worse.
        scores: the change of each score.
        measures: the change of the cost, the tokens and the seconds, which are not part of the verdict.
        changed: the cases whose scores changed: those that fell, then those that rose, the largest change first.
        flaky: names of cases whose runs differ.
        missing: cases that only the earlier evaluation has.
        added: cases that only the later evaluation has.
    """

    verdict: str
    is_worse: bool
    is_better: bool
    scores: tuple[DifferenceForm, ...]
    measures: tuple[DifferenceForm, ...]
    changed: tuple[CaseChangeForm, ...]
    flaky: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
