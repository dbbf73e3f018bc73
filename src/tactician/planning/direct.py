"""Plans without a choice: every missing fact has a single action that brings it about.

Most decisions of an agent are of this kind, and need neither masks nor a search: the actions that are needed are
unavoidable, so a plan of them is optimal, and no exchange of a step could improve it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from tactician.planning.index import ActionIndex
from tactician.planning.model import Action, Goal
from tactician.planning.world import ConditionValue

_GOAL: Final = -1
_SEVERAL: Final = -2
_User: TypeAlias = tuple[int, Mapping[str, bool]]
"""The number of an action, or `_GOAL`, and the conditions that it needs."""


def find_direct_plan(index: ActionIndex, known: Mapping[str, ConditionValue], goal: Goal) -> list[Action] | None:
    """Return the plan that follows from the facts without a choice; `None` if there is a choice, or no plan.

    Actions run in the order of `arrange`: the more specific early, then those declared first. Where an action undoes
    what another needs, their order is a choice.
    """
    actions, achievers, look = index.actions, index.achievers, known.get
    queue: list[_User] = [(_GOAL, goal.conditions)]
    waits_for: list[int] = []  # like `queue`
    followers: dict[int, list[int]] = {}
    for user, (_, conditions) in enumerate(queue):  # grows as it goes
        missing = 0
        for name, value in conditions.items():
            if look(name) is not value:
                makers = achievers.get((name, value))
                if makers is None or len(makers) != 1:
                    return None
                missing += 1
                maker = makers[0]
                if maker in followers:
                    followers[maker].append(user)
                else:
                    followers[maker] = [user]
                    queue.append((maker, actions[maker].pre))
        waits_for.append(missing)
    return None if _has_conflict(actions, queue) else _arrange(actions, queue, waits_for, followers)


def _has_conflict(actions: Sequence[Action], users: Sequence[_User]) -> bool:
    """Return whether an action undoes what the goal or another action needs."""
    negative: dict[str, int] = {}
    for user, conditions in users:
        for name, value in conditions.items():
            if not value:
                negative[name] = user if name not in negative else _SEVERAL
    for step, _ in users[1:]:
        for name, value in actions[step].effects.items():
            if value:
                if name in negative and negative[name] != step:
                    return True
            elif any(conditions.get(name) for user, conditions in users if user != step):
                return True
    return False


def _arrange(
    actions: Sequence[Action], users: Sequence[_User], waits_for: list[int], followers: Mapping[int, Sequence[int]]
) -> list[Action] | None:
    ready = [
        (-len(users[user][1]), users[user][0], user) for user, missing in enumerate(waits_for) if not missing and user
    ]
    heapify(ready)
    ordered: list[Action] = []
    while ready:
        _, step, _ = heappop(ready)
        ordered.append(actions[step])
        for user in followers[step]:
            waits_for[user] -= 1
            if not waits_for[user] and user:
                heappush(ready, (-len(users[user][1]), users[user][0], user))
    return ordered if len(ordered) == len(followers) else None
