"""What an action has to have before it can run, and where that can come from."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from tactician.process import ActionSpec, OperationContext, PlannedAgentSpec
from tactician.tools import snake_case

BINDING = "made by the supervisor"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that an action must have.

    Attributes:
        label: the condition that it is there.
        type: what it has to be.
        givers: the actions that give one. When there is none, the model makes it.
    """

    label: str
    type: type
    givers: tuple[str, ...]

    @property
    def argument(self) -> str:
        """What it is called as an argument of a tool."""
        binding, _, written = self.label.rpartition(": ")
        return snake_case(binding or written.rpartition(".")[2])

    @property
    def binding(self) -> str:
        """The name under which the model's own goes onto the blackboard: it tells it from what was there before."""
        binding, _, _ = self.label.rpartition(": ")
        return binding or BINDING

    def is_there(self, agent: PlannedAgentSpec, context: OperationContext) -> bool:
        """Whether it is on the blackboard."""
        return agent.observations[self.label](context.blackboard)

    def may_be_made(self, agent: PlannedAgentSpec, context: OperationContext) -> bool:
        """Whether the model may make it: when nothing else gives it, and nothing but the model's own is there."""
        if self.givers:
            return False
        return not self.is_there(agent, context) or context.blackboard.named(self.binding, self.type) is not None


def inputs_of(action: ActionSpec, agent: PlannedAgentSpec) -> tuple[Wanted, ...]:
    """The objects that an action must have."""
    labels = (label for label in action.needs if not label.endswith("?"))
    return tuple(
        Wanted(label, kind, tuple(one.name for one in agent.actions if one.plan.effects.get(label)))
        for label, kind in zip(labels, action.input_types, strict=False)  # conditions come after the objects
    )


async def unmet(action: ActionSpec, agent: PlannedAgentSpec, context: OperationContext) -> list[str]:
    """The conditions, other than that there are objects, that keep an action from running now."""
    objects = {wanted.label for wanted in inputs_of(action, agent)}
    wanted = (name for name, value in action.plan.pre.items() if value and name not in objects)
    return [name for name in wanted if not await _holds(name, agent, context)]


async def _holds(name: str, agent: PlannedAgentSpec, context: OperationContext) -> bool:
    if (observe := agent.conditions.get(name)) is None:
        return agent.observations[name](context.blackboard)
    holds = observe(context)
    return await holds if isinstance(holds, Awaitable) else holds
