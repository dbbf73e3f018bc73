"""Evaluations of all Runnables and their plans, with the data sets and evaluators of pydantic-evals."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.evals.comparison import compare_reports as compare_reports
    from tactician.evals.context import EvalContext as EvalContext
    from tactician.evals.datasets import EVALUATORS as EVALUATORS
    from tactician.evals.datasets import load_dataset as load_dataset
    from tactician.evals.dialogues import DialogueTranscript as DialogueTranscript
    from tactician.evals.dialogues import SimulatedDialogue as SimulatedDialogue
    from tactician.evals.dialogues import SimulatedUser as SimulatedUser
    from tactician.evals.differences import ReportComparison as ReportComparison
    from tactician.evals.evaluation import evaluate as evaluate
    from tactician.evals.evaluation import evaluate_sync as evaluate_sync
    from tactician.evals.evaluators.answers import Cheaper as Cheaper
    from tactician.evals.evaluators.answers import Faster as Faster
    from tactician.evals.evaluators.answers import Schema as Schema
    from tactician.evals.evaluators.answers import Similar as Similar
    from tactician.evals.evaluators.documents import Cites as Cites
    from tactician.evals.evaluators.documents import Retrieved as Retrieved
    from tactician.evals.evaluators.judges import Judge as Judge
    from tactician.evals.evaluators.person_judge import PersonJudge as PersonJudge
    from tactician.evals.evaluators.plans import PlanAvoids as PlanAvoids
    from tactician.evals.evaluators.plans import PlanCost as PlanCost
    from tactician.evals.evaluators.plans import PlanOrder as PlanOrder
    from tactician.evals.evaluators.plans import PlanUses as PlanUses
    from tactician.evals.evaluators.plans import Replans as Replans
    from tactician.evals.evaluators.plans import RulesHeld as RulesHeld
    from tactician.evals.evaluators.teams import HandedTo as HandedTo
    from tactician.evals.evaluators.teams import Reviewed as Reviewed
    from tactician.evals.evaluators.teams import TasksDone as TasksDone
    from tactician.evals.evaluators.tools import ToolsCalled as ToolsCalled
    from tactician.evals.plans import evaluate_plans as evaluate_plans
    from tactician.evals.plans import evaluate_plans_sync as evaluate_plans_sync
    from tactician.evals.recorded import cases_from_conversations as cases_from_conversations
    from tactician.evals.recorded import cases_from_runs as cases_from_runs
    from tactician.evals.report import EvalReport as EvalReport
    from tactician.evals.statistics import ScoreComparison as ScoreComparison
    from tactician.evals.statistics import compare_scores as compare_scores
    from tactician.evals.trials import TrialSeed as TrialSeed
else:
    _find, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.evals.comparison": "compare_reports",
            "tactician.evals.context": "EvalContext",
            "tactician.evals.datasets": "EVALUATORS load_dataset",
            "tactician.evals.dialogues": "DialogueTranscript SimulatedDialogue SimulatedUser",
            "tactician.evals.differences": "ReportComparison",
            "tactician.evals.evaluation": "evaluate evaluate_sync",
            "tactician.evals.evaluators.answers": "Cheaper Faster Schema Similar",
            "tactician.evals.evaluators.documents": "Cites Retrieved",
            "tactician.evals.evaluators.judges": "Judge",
            "tactician.evals.evaluators.person_judge": "PersonJudge",
            "tactician.evals.evaluators.plans": "PlanAvoids PlanCost PlanOrder PlanUses Replans RulesHeld",
            "tactician.evals.evaluators.teams": "HandedTo Reviewed TasksDone",
            "tactician.evals.evaluators.tools": "ToolsCalled",
            "tactician.evals.plans": "evaluate_plans evaluate_plans_sync",
            "tactician.evals.recorded": "cases_from_conversations cases_from_runs",
            "tactician.evals.report": "EvalReport",
            "tactician.evals.statistics": "ScoreComparison compare_scores",
            "tactician.evals.trials": "TrialSeed",
        },
    )

    def __getattr__(name: str) -> object:
        from tactician.extras import require_extra

        with require_extra("evals", "An evaluation needs"):
            return _find(name)
