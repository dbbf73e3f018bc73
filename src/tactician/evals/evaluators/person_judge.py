"""A person as a judge: a request that waits in the dashboard, the inbox and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.agents import PlannedAgent, achieves_goal, action, planned_agent
from tactician.errors import ConfigurationError
from tactician.evals.context import EvalContext, read_context
from tactician.evals.entries import WaitingCase
from tactician.evals.evaluators.judges import write_prompt
from tactician.platform import Platform
from tactician.process import UserInput, ask_human
from tactician.runs import RunContext, RunStatus
from tactician.runs.life.creation import RunKey
from tactician.runs.progress.store import RunStore
from tactician.suggestions import suggest_options


class PersonVerdict(pydantic.BaseModel):
    """Opinion of a person about an answer."""

    passed: Annotated[bool, pydantic.Field(description="Does the answer meet the rubric?")]
    reason: str = ""


@planned_agent(name="Evaluation judge", description="Asks a person for an opinion about an answer.")
class AskingJudge:
    """Agent whose only action asks a person."""

    def __init__(self, role: str | None = None) -> None:
        self._role = role

    @achieves_goal("The opinion of a person")
    @action
    async def ask(self, asked: UserInput) -> PersonVerdict:
        """Ask a person."""
        return await ask_human(PersonVerdict, asked.content, required_role=self._role)


class JudgeWaitingError(Exception):
    """A person has not judged yet."""


@suggest_options
@dataclass(repr=False)
class PersonJudge(Evaluator[Any, Any, Any]):
    """Judgement of a person, as an assertion with a reason.

    The evaluation is not complete until the person has answered; run it again with the same `id`, on a platform with a
    store. The case does not run again.

    Attributes:
        rubric: what a good answer is.
        role: role that the person needs; anybody may answer by default.
        name: name of the result.
    """

    rubric: str
    role: str | None = None
    name: str = "PersonJudge"

    def get_default_evaluation_name(self) -> str:
        """Return the name of the result."""
        return self.name

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return the judgement of the person.

        Raises:
            JudgeWaitingError: while the person has not answered.
        """
        context = read_context(ctx)
        if context.platform is None or context.run is None or not context.key or not context.platform.is_durable:
            how = "evaluate(..., platform=Platform(store=...), id=...)"
            raise ConfigurationError(f"PersonJudge: the answer of a person has to be kept: {how}")
        return await self._ask(context, context.platform, context.run)

    async def _ask(self, context: EvalContext, platform: Platform, run: RunContext) -> EvaluationReason:
        judge, key = PlannedAgent(AskingJudge(self.role)), f"{context.key}/{self.name}"
        platform.register_internal(judge)
        records = await RunStore(platform.store).find(idempotency_key=key)
        if records and records[0].status is RunStatus.COMPLETED:
            return await _read_verdict(records[0].run_id, platform)
        run_id = records[0].run_id if records else await self._begin(context, judge, run.inside({RunKey: RunKey(key)}))
        context.waiting.append(WaitingCase(context.name or "", run_id, (self.rubric,)))
        raise JudgeWaitingError(self.rubric)

    async def _begin(self, context: EvalContext, judge: PlannedAgent[Any], run: RunContext) -> str:
        prompt = write_prompt(self.rubric, {"input": context.inputs, "answer": context.output})
        return (await judge.run(UserInput(f"{self.rubric}\n\n{prompt}"), context=run)).run_id


async def _read_verdict(run_id: str, platform: Platform) -> EvaluationReason:
    output = await platform.output(run_id)
    verdict = output if isinstance(output, PersonVerdict) else PersonVerdict.model_validate(output)
    return EvaluationReason(verdict.passed, verdict.reason or None)
