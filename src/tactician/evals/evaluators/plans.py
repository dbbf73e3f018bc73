"""Evaluators of plans: of the actions that ran, or of the plan, where an evaluation only plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.evals.context import EvalContext, judge_problems, read_context
from tactician.evals.evaluators.tools import list_tool_calls
from tactician.grammar import format_count
from tactician.planning.rules import Rule, from_data
from tactician.planning.ruling.progress import RuleBook
from tactician.process import ActionCompleted, ActionRefused, PlanMade
from tactician.suggestions import suggest_options


def list_names(evaluator: str, names: Sequence[object]) -> tuple[str, ...]:
    """Return the names that an evaluator takes, one by one or as a list, as a file has them.

    Raises:
        ConfigurationError: when there are no names, or something else is among them.
    """
    if len(names) == 1 and isinstance(names[0], list | tuple):
        names = names[0]
    listed = tuple(name for name in names if isinstance(name, str))
    if not listed or len(listed) < len(names):
        raise ConfigurationError(f'{evaluator}: write names, as in {evaluator}("first", "second")')
    return listed


def is_action(name: str, expected: str) -> bool:
    """Return whether an action has a name, with or without the class before it."""
    return name == expected or name.endswith(f".{expected}")


@dataclass(repr=False, init=False)
class PlanUses(Evaluator[Any, Any, Any]):
    """Assertion that all of these actions are used; `PlanUses("verify", "pay_out")`."""

    actions: tuple[str, ...]

    def __init__(self, *actions: str | Sequence[str]) -> None:
        self.actions = list_names("PlanUses", actions)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run or the plan uses all of them."""
        used = read_context(ctx).actions
        missing = [expected for expected in self.actions if not any(is_action(name, expected) for name in used)]
        return judge_problems(f"{expected} is not in {_show(used)}" for expected in missing)


@dataclass(repr=False, init=False)
class PlanAvoids(Evaluator[Any, Any, Any]):
    """Assertion that none of these actions is used."""

    actions: tuple[str, ...]

    def __init__(self, *actions: str | Sequence[str]) -> None:
        self.actions = list_names("PlanAvoids", actions)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run or the plan uses none of them."""
        used = read_context(ctx).actions
        present = [expected for expected in self.actions if any(is_action(name, expected) for name in used)]
        return judge_problems(f"{expected} is in {_show(used)}" for expected in present)


@dataclass(repr=False, init=False)
class PlanOrder(Evaluator[Any, Any, Any]):
    """Assertion that these actions are used in this order; others may be between them."""

    actions: tuple[str, ...]

    def __init__(self, *actions: str | Sequence[str]) -> None:
        self.actions = list_names("PlanOrder", actions)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run or the plan uses them in this order."""
        return judge_problems(self._find_problems(read_context(ctx).actions))

    def _find_problems(self, used: Sequence[str]) -> Iterator[str]:
        following = iter(used)
        for expected in self.actions:
            if not any(is_action(name, expected) for name in following):
                yield f"{expected} does not come in this order in {_show(used)}"
                return


@suggest_options
@dataclass(repr=False)
class PlanCost(Evaluator[Any, Any, Any]):
    """Assertion that the first plan costs no more than a limit, in the units of the costs of actions.

    Attributes:
        limit: the most that it may cost.
    """

    limit: float

    def __post_init__(self) -> None:
        need_amount("PlanCost.limit", self.limit)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the plan is cheap enough."""
        context = read_context(ctx)
        plans = [context.plan] if context.plan else [event.plan for event in context.list_events(PlanMade)]
        if not plans:
            return EvaluationReason(value=False, reason="there was no plan")
        cost = plans[0].cost
        return EvaluationReason(value=cost <= self.limit, reason=f"the plan costs {cost:g}, at most {self.limit:g}")


@suggest_options
@dataclass(repr=False)
class Replans(Evaluator[Any, Any, Any]):
    """Assertion that the run changed its plan no more often than a limit.

    Attributes:
        limit: the most changes.
    """

    limit: int = 0

    def __post_init__(self) -> None:
        need_amount("Replans.limit", self.limit, whole=True)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run changed its plan seldom enough."""
        plans: dict[str, int] = {}
        for event in read_context(ctx).list_events(PlanMade):
            plans[event.run_id] = plans.get(event.run_id, 0) + 1
        changes = sum(plans.values()) - len(plans)
        changed = f"changed its plan {format_count(changes, 'time')}"
        return EvaluationReason(value=changes <= self.limit, reason=f"{changed}, at most {self.limit}")


@dataclass(repr=False, init=False)
class RulesHeld(Evaluator[Any, Any, Any]):
    """Assertion that the actions that succeeded keep these rules; without rules, that no rule refused an action.

    For an agent without a plan, the names in the rules are names of tools. `tactician.planning.rules` makes rules.
    Conditions are not known after a run, so that rules about conditions hold unless the actions alone break them.
    """

    rules: tuple[Rule, ...] = ()

    def __init__(self, *rules: Rule | Mapping[str, Any] | Sequence[Any]) -> None:
        listed = rules[0] if len(rules) == 1 and isinstance(rules[0], list | tuple) else rules
        self.rules = tuple(rule if isinstance(rule, Rule) else from_data(rule) for rule in listed)

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Return the rules as data, as a file has them."""
        return {"rules": [rule.to_data() for rule in self.rules]} if self.rules else {}

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the rules hold."""
        context = read_context(ctx)
        if self.rules:
            return judge_problems(self._find_problems(_list_history(context)))
        refused = context.list_events(ActionRefused)
        return judge_problems(f"{event.action} would have broken {', '.join(event.rules)}" for event in refused)

    def _find_problems(self, history: Sequence[str]) -> Iterator[str]:
        names: Mapping[str, str] = {name.rpartition(".")[2]: name for name in history}
        book = RuleBook.of_actions(self.rules, {*history, *names, *_list_words(self.rules)})
        progress = book.replay([name.rpartition(".")[2] for name in history], None)
        for rule in progress.broken:
            yield f"the rule {rule} is broken by {_show(history)}"
        for rule in progress.open:
            if rule not in progress.broken:
                yield f"the rule {rule} is not met by {_show(history)}"


def _list_history(context: EvalContext) -> list[str]:
    """Return the names of the actions that succeeded, or of the tools, where there are no actions."""
    if context.plan is not None:
        return list(context.actions)
    done = [event.action for event in context.list_events(ActionCompleted) if event.error is None]
    return done or [name for name, _ in list_tool_calls(context)]


def _list_words(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the names of actions in rules: all alternatives of an event that are plain names."""
    for rule in rules:
        for event in rule.events:
            if isinstance(event, str):
                yield from (word for part in event.split("|") if (word := part.strip()).isidentifier())


def _show(names: Sequence[str]) -> str:
    return " → ".join(names) or "a plan without actions"
