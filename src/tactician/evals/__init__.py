"""Evaluations of all Runnables and their plans, with the data sets and evaluators of pydantic-evals."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.evals.comparison import compare_reports as compare_reports
    from tactician.evals.context import EvalContext as EvalContext
    from tactician.evals.differences import ReportComparison as ReportComparison
    from tactician.evals.evaluation import evaluate as evaluate
    from tactician.evals.evaluation import evaluate_sync as evaluate_sync
    from tactician.evals.report import EvalReport as EvalReport
    from tactician.evals.statistics import ScoreComparison as ScoreComparison
    from tactician.evals.statistics import compare_scores as compare_scores
    from tactician.evals.trials import TrialSeed as TrialSeed
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.evals.comparison": "compare_reports",
            "tactician.evals.context": "EvalContext",
            "tactician.evals.differences": "ReportComparison",
            "tactician.evals.evaluation": "evaluate evaluate_sync",
            "tactician.evals.report": "EvalReport",
            "tactician.evals.statistics": "ScoreComparison compare_scores",
            "tactician.evals.trials": "TrialSeed",
        },
    )
