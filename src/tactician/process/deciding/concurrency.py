"""Actions that run at once: which of a plan can, and which do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from tactician.planning import Action, WorldState
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.runs.outcomes.budget import BudgetMeter


class RunningActions:
    """Actions that have begun and are not recorded yet. The budget counts them, and no longer after the `with` block.

    Args:
        meter: meter of the budget of the process.
    """

    __slots__ = ("_actions", "_meter")

    def __init__(self, meter: BudgetMeter) -> None:
        self._meter = meter
        self._actions: dict[str, ActionSpec] = {}

    def __iter__(self) -> Iterator[ActionSpec]:
        return iter(self._actions.values())

    def __len__(self) -> int:
        return len(self._actions)

    def add(self, *actions: ActionSpec) -> None:
        """Note that actions begin."""
        for action in actions:
            self._actions[action.name] = action
            self._meter.count_running(0 if action.leads else 1)

    def remove(self, action: ActionSpec) -> None:
        """Note that an action has ended."""
        if self._actions.pop(action.name, None) is not None:
            self._meter.count_running(0 if action.leads else -1)

    def __enter__(self) -> RunningActions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for action in tuple(self):
            self.remove(action)


@dataclass(slots=True)
class Occupancy:
    """Limits for the actions that start, and the actions that have begun.

    Attributes:
        most: number of actions that may run at once.
        left: number of actions that the budget leaves; no limit, when `None`.
        running: the actions that run.
        waiting: the names of those that wait for an answer.
        keeps_order: True when no action may overtake another.
    """

    most: int
    left: int | None = None
    running: Sequence[ActionSpec] = ()
    waiting: Collection[str] = ()
    keeps_order: bool = False


def select_startable(
    actions: Sequence[Action], world: WorldState | None, agent: PlannedAgentSpec, occupancy: Occupancy
) -> tuple[ActionSpec, ...]:
    """Select the next actions of a plan that can start now, with the same result as in sequence.

    They are in the order of the plan. When no action has begun, the first of the plan is always among them.

    An action may overtake those before it in the plan, and start beside those that have begun, only when neither of the
    two touches what the other needs or changes, and when it is sure what they give: else the plan may change in
    between. It may where costs do, too: then the actions run in sequence.

    Args:
        actions: the plan, with the actions that have begun.
        world: the world as it is now; `None` selects the actions that could start in some world.
        agent: the agent.
        occupancy: the limits, and the actions that have begun.
    """
    begun = {action.name for action in occupancy.running}
    chosen: list[ActionSpec] = []
    before: list[ActionSpec] = []
    overtakes, new = False, 0
    for action in map(agent.action, (spec.name for spec in actions)):
        if action.name not in begun:
            new += 1
            if len(begun) + len(chosen) >= occupancy.most or (occupancy.left is not None and new > occupancy.left):
                break
            is_alone = not before and not begun
            others = (*before, *occupancy.running)
            is_free = action.name not in occupancy.waiting
            if is_free and (is_alone or _can_join(action, others, world, agent, overtakes=overtakes)):
                chosen.append(action)
            elif occupancy.keeps_order:
                break
            else:
                overtakes = True
        if agent.prices or not action.is_sure:
            break
        before.append(action)
    return tuple(chosen)


def _can_join(
    action: ActionSpec,
    others: Sequence[ActionSpec],
    world: WorldState | None,
    agent: PlannedAgentSpec,
    *,
    overtakes: bool,
) -> bool:
    """Return whether an action can start beside others that have begun, or that it overtakes."""
    if agent.prices or (overtakes and not action.is_sure):
        return False
    if world is not None and not action.plan.is_runnable_in(world):
        return False
    return all(_commute(action, other) for other in others)


def _commute(spec: ActionSpec, other: ActionSpec) -> bool:
    if spec.is_serial or other.is_serial or _may_take_from(spec, other) or _may_take_from(other, spec):
        return False
    return spec.plan.is_independent_of(other.plan)


def _may_take_from(taker: ActionSpec, giver: ActionSpec) -> bool:
    return any(
        issubclass(kind, taken) or issubclass(taken, kind)
        for taken in taker.optional_types
        for kind in giver.output_types
    )
