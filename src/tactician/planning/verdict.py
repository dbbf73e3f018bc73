"""Why an action is in a plan, or why it is not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from tactician.frozen import frozen
from tactician.planning.model import Action

Reason: TypeAlias = Literal[
    "not offered",
    "forbidden",
    "in the plan",
    "cannot run",
    "does not help",
    "not enough",
    "not needed",
    "dearer",
    "worth less",
    "not preferred",
]


@frozen
class Verdict:
    """Reason why an action is not part of the best plan.

    Attributes:
        action: the action asked about
        reason: `not offered`: it is not among the actions; `forbidden`: the rules `lacking` never let it run; `cannot
            run`: its preconditions `lacking` cannot be met, for a utility planner not now; `does not help`: no plan
            that runs it reaches the goal; `not enough`: alone it does not reach it, which is as far as a utility
            planner looks; `not needed`: a plan that runs it would work without it; `dearer`: the best plan that runs it
            costs `difference` more; `worth less`: its net value is lower by `difference`; `not preferred`: it would do
            as well, but others are shorter, more specific or declared first
        lacking: the preconditions that are not met
        difference: by how much it is dearer or worth less
    """

    action: Action
    reason: Reason
    lacking: tuple[str, ...] = ()
    difference: float = 0.0

    def __str__(self) -> str:
        return f"{self.action.name!r} {self._clause()}."

    def _clause(self) -> str:
        match self.reason:
            case "not offered":
                return "is not among the actions"
            case "forbidden":
                return f"is forbidden by the rule{'s' * (len(self.lacking) != 1)} {', '.join(self.lacking)}".rstrip()
            case "in the plan":
                return "is in the plan"
            case "cannot run":
                return f"cannot run, as it needs {join_quoted(self.lacking)}"
            case "does not help":
                return "does not help: no plan that runs it reaches the goal"
            case "not enough":
                return "is not enough: alone it does not reach the goal"
            case "not needed":
                return "is not needed: a plan that runs it works without it"
            case "dearer":
                return f"is dearer: the best plan that runs it costs {self.difference:g} more"
            case "worth less":
                return f"is worth less: its net value is lower by {self.difference:g}"
            case "not preferred":
                return "would do as well, but fewer steps, more specific actions and those declared first are preferred"


def join_quoted(names: Iterable[str]) -> str:
    """Write names in quotes as a list in a sentence."""
    quoted = [repr(name) for name in names]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
