"""Reviews of plans: an action of its own in which the process asks a person, as any action can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Final

from pydantic import Field

from tactician.errors import DeclarationError, Rejected
from tactician.frozen import frozen
from tactician.planning import Action, Plan
from tactician.planning import rules as make
from tactician.planning.explanation import Explanation
from tactician.planning.rules import Rule, from_data
from tactician.planning.ruling.naming import list_action_names
from tactician.process.acting.acting import Execution
from tactician.process.agent.operation import OperationContext
from tactician.process.agent.spec import ActionSpec
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.people.questions import ask_human
from tactician.process.state.options import ActionRetryPolicy, PlanReview
from tactician.process.state.state import REVIEW, PlanReviewState, ProcessStatus
from tactician.suggestions import did_you_mean

_MOST_CORRECTIONS: Final = 10


@frozen
class PlanDecision:
    """Decision on a plan."""

    approved: Annotated[bool, Field(description="whether to follow the plan, or the steps below")]
    reason: Annotated[str, Field(description="why not, for the record")] = ""
    forbid: Annotated[tuple[str, ...], Field(description="actions that may not run in this process")] = ()
    demand: Annotated[tuple[str, ...], Field(description="actions that have to run before a goal counts")] = ()
    rule: Annotated[str, Field(description="a rule for this process, as in before('verify', 'pay_out')")] = ""
    steps: Annotated[tuple[str, ...], Field(description="the actions to take instead, in their order")] = ()


class AskingReviewer:
    """Reviewer of the plans of a process.

    Attributes:
        action: the action in which the process asks.
    """

    def __init__(self, execution: Execution, terms: PlanReview) -> None:
        self._execution = execution
        self._state = execution.state
        self._review = self._state.review = execution.state.review or PlanReviewState()
        self._terms = terms
        never = Action(REVIEW, {REVIEW: True})  # no planner chooses it
        self.action = ActionSpec(
            never,
            "Asks a person about the plan",
            self._perform,
            needs=(),
            gives=(),
            output_types=(),
            output_binding=DEFAULT_BINDING,
            sets=(),
            condition_ran=f"ran {REVIEW}",
            retry=ActionRetryPolicy(attempts=1),
            is_serial=True,
        )
        self._add_rules([from_data(data) for data in self._review.rules])

    def review(self, plan: Plan) -> bool:
        """Return whether a person has to decide on a plan first; a plan that was rejected before ends the process."""
        review, names = self._review, tuple(action.name for action in plan.actions)
        if names in review.refused:
            self._state.end(ProcessStatus.STUCK, f"the plan {', '.join(names)} was rejected: {review.reason}")
            return False
        approved = review.approved
        if approved is not None and (self._terms.replans == "allow" or names == approved[len(approved) - len(names) :]):
            return False
        if not self._is_dear(plan):
            return False
        review.shown, review.prompt = names, "\n".join(self._describe(plan))
        return True

    def _is_dear(self, plan: Plan) -> bool:
        """Return whether a plan is expected to take more than needs no decision; what was never measured may."""
        limit, expected = self._terms.above_dollars, plan.expected
        return limit is None or not expected.runs or expected.dollars > limit

    def _describe(self, plan: Plan) -> Iterator[str]:
        agent = self._execution.agent
        yield f"Plan of {agent.name}: {', then '.join(action.name for action in plan.actions)}"
        yield str(Explanation(plan.goal, plan))
        yield f"Expected: {plan.expected}"
        if plan.penalty:
            yield f"It breaks preferences that cost {plan.penalty:g}."
        if agent.rules:
            yield f"Rules: {', '.join(map(str, agent.rules))}"

    async def _perform(self, context: OperationContext) -> None:
        """Ask until the decision makes sense, and take it over."""
        problem = ""
        for _ in range(_MOST_CORRECTIONS):
            decision = await self._ask(problem)
            try:
                rules = list(self._read_rules(decision))
                self._add_rules(rules)
            except (TypeError, ValueError) as error:
                problem = f"\n\nThat decision was not possible: {error}"
            except DeclarationError as error:
                problem = f"\n\nThat decision was not possible: {'; '.join(error.problems)}"
            else:
                self._take(decision, rules)
                return
        raise Rejected(f"no decision on the plan made sense in {_MOST_CORRECTIONS} attempts")

    async def _ask(self, problem: str) -> PlanDecision:
        terms, prompt = self._terms, f"{self._review.prompt}{problem}"
        role, key = terms.required_role, "plan_review"
        try:
            if terms.deadline is None:
                return await ask_human(PlanDecision, prompt, required_role=role, key=key)
            default = PlanDecision(terms.default == "approve", "nobody has decided in time")
            return await ask_human(
                PlanDecision, prompt, deadline=terms.deadline, default=default, required_role=role, key=key
            )
        except Rejected as rejection:
            return PlanDecision(False, rejection.reason)

    def _read_rules(self, decision: PlanDecision) -> Iterator[Rule]:
        """Yield the rules of a decision.

        Raises:
            ValueError: when it names an action that the agent lacks, or holds no rule.
        """
        names = [action.name for action in self._execution.agent.actions]
        written = [make.parse_rule(decision.rule)] if decision.rule.strip() else []
        ruled = [name for rule in written for name in _list_ruled_actions(rule, names)]
        for name in (*decision.forbid, *decision.demand, *decision.steps, *ruled):
            if name not in names:
                raise ValueError(f"no action {name!r}.{did_you_mean(name, names)} Actions: {', '.join(names)}")
        yield from map(make.never, decision.forbid)
        yield from map(make.sometime, decision.demand)
        yield from written
        if decision.steps:
            yield from _follow_steps(decision.steps, names)

    def _take(self, decision: PlanDecision, rules: list[Rule]) -> None:
        review = self._review
        if decision.steps:
            review.approved = decision.steps
        elif decision.approved and not rules:
            review.approved = review.shown
        elif not rules:
            review.refused.append(review.shown)
            review.reason = decision.reason or "no reason was given"
        review.rules.extend(rule.to_data() for rule in rules)

    def _add_rules(self, rules: list[Rule]) -> None:
        """Add rules to the process: they may leave it without a plan, which its end says then.

        Raises:
            DeclarationError: when an expression in a rule has a misspelt name.
        """
        if rules:
            execution = self._execution
            execution.agent = execution.agent.with_rules(replace(rule, is_shared=True) for rule in rules)


def _list_ruled_actions(rule: Rule, names: list[str]) -> list[str]:
    """Return the names in a rule that only actions can have; a method of a component has its short name, too."""
    short = {name.rpartition(".")[2] for name in names}
    return [name for name in list_action_names(rule) if name not in short]


def _follow_steps(steps: tuple[str, ...], names: list[str]) -> Iterator[Rule]:
    """Yield the rules under which exactly these actions are left."""
    if len(set(steps)) < len(steps):
        raise ValueError("each action can be among the steps once")
    yield from (make.never(name) for name in names if name not in steps)
    yield from (make.before(first, then) for first, then in pairwise(steps))
    yield make.sometime(steps[-1])
