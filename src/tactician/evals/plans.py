"""Evaluations of plans: which plan an agent chooses for a blackboard. Nothing runs, and no model is called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic_evals import Dataset
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from tactician.agents import PlannedAgent
from tactician.agents.planned.planned_agent import list_input_objects
from tactician.agents.planned.specs import planned_spec
from tactician.errors import ConfigurationError
from tactician.evals.comparison import compare_reports
from tactician.evals.context import EvalContext
from tactician.evals.entries import TrialEntry
from tactician.evals.evaluation import list_trials, read_baseline
from tactician.evals.report import EvalReport
from tactician.evals.scoring import extend_context, score_case
from tactician.evals.trials import Trial
from tactician.events.event import new_id
from tactician.llm import LlmOptions
from tactician.planning import Plan, WorldState
from tactician.platform import Platform
from tactician.process import Blackboard
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs.context.threads import run_blocking
from tactician.suggestions import did_you_mean, suggest_options


class NoModels:
    """Source of models for code that must not call any."""

    def resolve(self, options: LlmOptions) -> NoReturn:
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError("evaluate_plans calls no model, and the plan depends on the answer of one")


@suggest_options
async def evaluate_plans(
    dataset: Dataset[Any, Any, Any],
    agent: object,
    *,
    baseline: str | Path | EvalReport | None = None,
    seed: int = 0,
    name: str | None = None,
) -> EvalReport:
    """Score the plans that an agent chooses, without running them.

    The output of a case is the list of the actions of its first plan, or `None` without a plan, so that
    `EqualsExpected` compares it with an expected list.

    Args:
        dataset: the cases. The inputs of a case are what the blackboard begins with: an object, a tuple of objects, or
            a mapping of conditions such as `{"paid": True}` in the place of objects.
        agent: a planned agent.
        baseline: report to compare with, or the file that has it.
        seed: seed of the comparison.
        name: name of the experiment; the name of the agent by default.

    Raises:
        ConfigurationError: when the agent is not planned.
        StoredStateError: when the baseline cannot be read.
    """
    before = read_baseline(baseline)
    platform = Platform(models=NoModels())
    runnable = platform.as_runnable(agent)
    if not isinstance(runnable, PlannedAgent) or (spec := planned_spec(runnable)) is None:
        raise ConfigurationError(f"{runnable.name} chooses no plan: evaluate_plans takes planned agents")
    planner = _PlanCases(dataset, runnable, spec, platform)
    trials = list(list_trials(dataset, 1, seed))
    report = EvalReport(id=new_id(), name=name or runnable.name, dataset=dataset.name, runnable=runnable.name)
    report.started, report.expected = platform.services.clock.time(), len(trials)
    report.entries = [await planner.score(trial) for trial in trials]
    if before is not None:
        report.comparison = compare_reports(before, report, seed=seed)
    return report


def evaluate_plans_sync(dataset: Dataset[Any, Any, Any], agent: object, **options: Any) -> EvalReport:  # noqa: ANN401
    """Call `evaluate_plans` from a program without an event loop."""
    return run_blocking(evaluate_plans(dataset, agent, **options))


class _PlanCases:
    """Cases of a data set for the planner of an agent."""

    def __init__(
        self, dataset: Dataset[Any, Any, Any], agent: PlannedAgent[Any], spec: PlannedAgentSpec, platform: Platform
    ) -> None:
        self._dataset, self._agent, self._spec, self._platform = dataset, agent, spec, platform

    async def score(self, trial: Trial) -> TrialEntry:
        """Choose the plan of a case, and score it."""
        chosen: list[Plan | None] = []

        async def plan(inputs: object) -> list[str] | None:
            chosen.append(best_plan := await self._choose(inputs))
            return None if best_plan is None else [action.name for action in best_plan.actions]

        def prepare(ctx: EvaluatorContext[Any, Any, Any]) -> EvalContext:
            if (best_plan := chosen[-1]) is not None:
                ctx.metrics["plan_cost"] = best_plan.cost
            return extend_context(ctx, plan=best_plan, seed=trial.seed)

        reported = await score_case(self._dataset, trial.case, trial.name, plan, prepare)
        return TrialEntry(
            name=trial.name,
            case=trial.case_name,
            passed=reported if isinstance(reported, ReportCase) else None,
            failed=reported if isinstance(reported, ReportCaseFailure) else None,
        )

    async def _choose(self, inputs: object) -> Plan | None:
        if isinstance(inputs, Mapping) and all(isinstance(value, bool) for value in inputs.values()):
            spec = self._spec
            return spec.planner.best(self._create_world(inputs), spec.plannable, spec.pursued)
        process = self._agent.create_process(*list_input_objects(inputs), context=self._platform.context())
        return await process.outlook()

    def _create_world(self, conditions: Mapping[str, bool]) -> WorldState:
        known = {**dict.fromkeys(self._spec.conditions, False), **self._spec.look(Blackboard())}
        if unknown := [name for name in conditions if name not in known]:
            hint = did_you_mean(unknown[0], known) or f" Its conditions are {', '.join(known)}."
            raise ConfigurationError(f"{self._agent.name} has no condition {unknown[0]!r}.{hint}")
        return WorldState({**known, **conditions})
