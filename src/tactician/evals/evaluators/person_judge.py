"""A person as a judge: a request that waits in the dashboard, the inbox and the command line."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.agents import PlannedAgent
from tactician.errors import ConfigurationError
from tactician.evals.asking import AskingJudge, AskingPairJudge, PersonChoice, PersonVerdict
from tactician.evals.context import EvalContext, read_context
from tactician.evals.evaluators.judges import write_parts
from tactician.evals.summaries import WaitingCase
from tactician.platform import Platform
from tactician.process import UserInput
from tactician.runs import RunContext, RunStatus
from tactician.runs.life.creation import RunKey
from tactician.runs.progress.store import RunStore
from tactician.suggestions import suggest_options


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
        pairs: true to ask which is better, the output or the expected output, without telling which is which. The
            score is 1 when the output is better, 0.5 when they are equal, and 0 when it is worse.
        name: name of the result.
    """

    rubric: str
    role: str | None = None
    pairs: bool = False
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
        judge = PlannedAgent(AskingPairJudge(self.role) if self.pairs else AskingJudge(self.role))
        key = f"{context.key}/{self.name}"
        platform.register_internal(judge)
        records = await RunStore(platform.store).find(idempotency_key=key)
        if records and records[0].status is RunStatus.COMPLETED:
            return self._read(await platform.output(records[0].run_id), context)
        run_id = records[0].run_id if records else await self._begin(context, judge, run.inside({RunKey: RunKey(key)}))
        context.waiting.append(WaitingCase(context.name or "", run_id, (self.rubric,)))
        raise JudgeWaitingError(self.rubric)

    async def _begin(self, context: EvalContext, judge: PlannedAgent[Any], run: RunContext) -> str:
        parts = {"input": context.inputs, **self._show_answers(context)}
        return (await judge.run(UserInput(f"{self.rubric}\n\n{write_parts(parts)}"), context=run)).run_id

    def _show_answers(self, context: EvalContext) -> dict[str, Any]:
        if not self.pairs:
            return {"answer": context.output}
        if context.expected_output is None:
            raise ConfigurationError("PersonJudge: pairs=True compares with the expected_output, and the case has none")
        pair = [context.output, context.expected_output]
        return dict(zip(("first", "second"), pair if _shows_output_first(context) else pair[::-1], strict=True))

    def _read(self, output: object, context: EvalContext) -> EvaluationReason:
        if not self.pairs:
            verdict = output if isinstance(output, PersonVerdict) else PersonVerdict.model_validate(output)
            return EvaluationReason(verdict.passed, verdict.reason or None)
        choice = output if isinstance(output, PersonChoice) else PersonChoice.model_validate(output)
        is_better = choice.better == ("first" if _shows_output_first(context) else "second")
        return EvaluationReason(0.5 if choice.better == "equal" else float(is_better), choice.reason or None)


def _shows_output_first(context: EvalContext) -> bool:
    """Return whether the output of a case is the first of the two answers, which is chance and stays so."""
    return random.Random(f"{context.key}/pair").random() < 0.5
