"""Constraints on whom the manager of a hierarchy delegates to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Final

from tactician.amounts import Count, Text
from tactician.ensemble.values.argument_kinds import TEXTS, as_list, is_count
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.suggestions import did_you_mean


@frozen
class HierarchicalConstraints:
    """Limits on the delegations of a manager, by the roles of its workers. Other workflows ignore them.

    A delegation that a limit forbids does not run; the manager reads why. Calls count when they are allowed, stages and
    required workers when a worker has completed.

    Attributes:
        required_workers: workers that must have completed a delegation when the manager answers.
        allowed_workers: the only workers that may get delegations; all workers, when empty.
        max_calls_per_worker: number of delegations that a worker may get; no limit for other workers.
        max_delegations: number of delegations in all; no limit, when 0.
        stages: groups of workers; each worker of a group must have completed before a later group may begin.
    """

    required_workers: Collection[Text] = frozenset()
    allowed_workers: Collection[Text] = frozenset()
    max_calls_per_worker: Mapping[str, Count] = field(default_factory=dict)
    max_delegations: Count = 0
    stages: Sequence[Sequence[Text]] = ()

    def __post_init__(self) -> None:
        set_field = partial(object.__setattr__, self)
        if isinstance(calls := self.max_calls_per_worker, Mapping):
            set_field("max_calls_per_worker", MappingProxyType(dict(calls)))
        for place in ("required_workers", "allowed_workers"):  # `find_mistakes` names what is not a list of texts
            listed: tuple[str, ...] = as_list(getattr(self, place))
            set_field(place, frozenset(listed) if TEXTS.accepts(listed) else listed)
        stages: object = as_list(self.stages)
        set_field("stages", tuple(as_list(stage) for stage in stages) if isinstance(stages, tuple) else stages)

    def find_mistakes(self, roles: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield the place and the description of each mistake; `roles` are the roles of all workers."""
        if strangers := [*self._find_strangers()]:
            yield from strangers
            return
        yield from self._find_unknown("allowed_workers", sorted(self.allowed_workers), roles)
        for role in sorted(self.required_workers):
            if self.allowed_workers and role not in self.allowed_workers:
                yield "constraints.required_workers", f"it contains {role!r}, which is not in allowed_workers"
        yield from self._find_unknown("required_workers", sorted(self.required_workers), roles)
        yield from self._find_unknown("max_calls_per_worker", list(self.max_calls_per_worker), roles)
        for role, number in self.max_calls_per_worker.items():
            if number < 1:
                yield f"constraints.max_calls_per_worker[{role!r}]", f"it must be > 0, got: {number}"
        if self.max_delegations < 0:
            yield "constraints.max_delegations", f"it must be >= 0, got: {self.max_delegations}"
        yield from self._find_unknown("stages", [role for stage in self.stages for role in stage], roles)
        counts = Counter(role for stage in self.stages for role in set(stage))
        for role in (role for role, count in counts.items() if count > 1):
            yield "constraints.stages", f"the role {role!r} is in multiple stages: leave it in one"

    def _find_strangers(self) -> Iterator[tuple[str, str]]:
        """Yield the limits that are of another kind, such as a text where a list of roles belongs."""
        for place in ("required_workers", "allowed_workers"):
            roles: object = getattr(self, place)
            yield from _find_role_mistakes(f"constraints.{place}", roles, f"{place}={{{roles!r}}}")
        if isinstance(self.stages, tuple):
            for number, stage in enumerate(self.stages):
                yield from _find_role_mistakes(f"constraints.stages[{number}]", stage, f"[{stage!r}]")
        else:
            yield "constraints.stages", f"{self.stages!r} is not a list of stages"
        calls: object = self.max_calls_per_worker
        if not isinstance(calls, Mapping):
            yield "constraints.max_calls_per_worker", f"{calls!r} is not a mapping of roles to numbers"
        for place, number in calls.items() if isinstance(calls, Mapping) else ():
            if not is_count(number) or not isinstance(place, str):
                yield f"constraints.max_calls_per_worker[{place!r}]", f"{number!r} is not the number of a role"
        if not is_count(self.max_delegations):
            yield "constraints.max_delegations", f"{self.max_delegations!r} is not a whole number"

    def find_objection(self, role: str, calls: Sequence[str], completed: Collection[str]) -> str | None:
        """Return why a worker may not get a delegation now; `None` when it may.

        Args:
            role: the role of the worker.
            calls: the roles of all delegations that were allowed so far.
            completed: the roles of workers that have completed a delegation.
        """
        if self.allowed_workers and role not in self.allowed_workers:
            return f"{role!r} is not one of the allowed workers: {', '.join(map(repr, sorted(self.allowed_workers)))}"
        if self.max_delegations and len(calls) >= self.max_delegations:
            return (
                f"the limit of {format_count(self.max_delegations, 'delegation')} is used up: answer with what you have"
            )
        limit = self.max_calls_per_worker.get(role)
        if limit is not None and calls.count(role) >= limit:
            return (
                f"the limit of {format_count(limit, 'delegation')} to {role!r} is used up: "
                "use its answers, or ask another worker"
            )
        if missing := self._find_earlier(role, completed):
            return f"{role!r} is in a later stage: delegate to {', '.join(map(repr, missing))} first"
        return None

    def _find_earlier(self, role: str, completed: Collection[str]) -> list[str]:
        """Return the workers of earlier stages that have not completed."""
        stage_number = next((number for number, stage in enumerate(self.stages) if role in stage), 0)
        return [earlier for stage in self.stages[:stage_number] for earlier in stage if earlier not in completed]

    @staticmethod
    def _find_unknown(place: str, names: Sequence[str], roles: Collection[str]) -> Iterator[tuple[str, str]]:
        for role in names:
            if role not in roles:
                yield f"constraints.{place}", f"it references unknown agent {role!r}.{did_you_mean(role, roles)}"


def _find_role_mistakes(place: str, roles: object, remedy: str) -> Iterator[tuple[str, str]]:
    if isinstance(roles, str):
        yield place, f"it is a list of roles: write {remedy}"
    elif not isinstance(roles, frozenset) and not TEXTS.accepts(roles):
        yield place, f"{roles!r} is not a list of roles, which are texts"


NO_CONSTRAINTS: Final = HierarchicalConstraints()
