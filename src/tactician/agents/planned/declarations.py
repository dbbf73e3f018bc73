"""Declarations of planned agents, as the decorators record them, and what parameters are annotated with."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from tactician import planning
from tactician.frozen import frozen
from tactician.process import ActionRetryPolicy, Export, OperationContext
from tactician.prompts import LlmReference, PromptContributor

if TYPE_CHECKING:
    from tactician.planning.planner import PlanningAlgorithm


class Planner(StrEnum):
    """Algorithm that chooses the actions of an agent."""

    GOAP = "goap"
    """Plans the cheapest way to its best goal."""
    UTILITY = "utility"
    """Runs whatever is worth most now, as long as there is anything to run, or until a goal is reached."""
    HYBRID = "hybrid"
    """Runs what is worth more than it costs, and goes for its best goal by any number of steps."""
    SUPERVISOR = "supervisor"
    """Lets a model choose."""

    def build(self) -> PlanningAlgorithm:
        """Return a planner of this kind."""
        if self is Planner.UTILITY:
            return planning.UtilityPlanner()
        return planning.HybridPlanner() if self is Planner.HYBRID else planning.AStarPlanner()


ACTION: Final = "__tactician_action__"
GOAL: Final = "__tactician_goal__"
CONDITION: Final = "__tactician_condition__"
COST: Final = "__tactician_cost__"


class _ByName:
    """The type of `by_name`."""

    def __repr__(self) -> str:
        return "by_name"


by_name: Final = _ByName()
"""`Annotated[Draft, by_name]`: the parameter takes the object that is bound to the parameter's own name."""


@frozen
class Resolver:
    """Declaration of `resolve`."""

    provide: Callable[[OperationContext], object]


def resolve(provide: Callable[[OperationContext], object]) -> Resolver:
    """Fill a parameter from a function.

    In `Annotated[Session, resolve(current_session)]` the parameter takes the result of the function.
    """
    return Resolver(provide)


@frozen
class ActionDeclaration:
    """Declaration of `@action`."""

    description: str | None
    pre: tuple[str, ...]
    post: tuple[str, ...]
    can_rerun: bool
    clear_blackboard: bool
    cost: float | Literal["measured"]
    value: float
    cost_method: str | None
    value_method: str | None
    tool_groups: tuple[str, ...]
    references: tuple[LlmReference, ...]
    contributors: tuple[PromptContributor, ...]
    output_binding: str
    trigger: type | None
    retry: ActionRetryPolicy | None
    blocking: bool


@frozen
class MethodDeclaration:
    """Declaration of `@condition` and `@cost`."""

    name: str | None


@frozen
class GoalDeclaration:
    """Declaration of `@achieves_goal`."""

    description: str
    value: float
    export: Export
