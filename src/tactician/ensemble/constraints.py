"""Constraints on whom the manager of a hierarchy delegates to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Final

from tactician.documents import did_you_mean
from tactician.frozen import frozen


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

    required_workers: Collection[str] = frozenset()
    allowed_workers: Collection[str] = frozenset()
    max_calls_per_worker: Mapping[str, int] = field(default_factory=dict)
    max_delegations: int = 0
    stages: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        set_field = partial(object.__setattr__, self)
        set_field("max_calls_per_worker", MappingProxyType(dict(self.max_calls_per_worker)))
        for place in ("required_workers", "allowed_workers"):
            if not isinstance(roles := getattr(self, place), str):  # a text is a mistake, which `find_mistakes` names
                set_field(place, frozenset(roles))
        set_field("stages", tuple(stage if isinstance(stage, str) else tuple(stage) for stage in self.stages))

    def find_mistakes(self, roles: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield the place and the description of each mistake; `roles` are those of all workers."""
        if texts := [*self._find_texts()]:
            yield from texts
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

    def _find_texts(self) -> Iterator[tuple[str, str]]:
        """Yield each text where a list of roles belongs, which would be a list of its characters."""
        for place in ("required_workers", "allowed_workers"):
            if isinstance(role := getattr(self, place), str):
                yield f"constraints.{place}", f"it is a list of roles: write {place}={{{role!r}}}"
        for number, stage in enumerate(self.stages):
            if isinstance(stage, str):
                yield f"constraints.stages[{number}]", f"it is a list of roles: write [{stage!r}]"

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
            return f"all {self.max_delegations} delegations are used up: answer with what you have"
        limit = self.max_calls_per_worker.get(role)
        if limit is not None and calls.count(role) >= limit:
            return f"{role!r} has had all of its {limit} delegations: use what it gave, or ask another worker"
        if missing := self._find_earlier(role, completed):
            return f"{role!r} is in a later stage: delegate to {', '.join(map(repr, missing))} first"
        return None

    def _find_earlier(self, role: str, completed: Collection[str]) -> list[str]:
        """Return the workers of earlier stages that have not completed."""
        own = next((number for number, stage in enumerate(self.stages) if role in stage), 0)
        return [earlier for stage in self.stages[:own] for earlier in stage if earlier not in completed]

    @staticmethod
    def _find_unknown(place: str, names: Sequence[str], roles: Collection[str]) -> Iterator[tuple[str, str]]:
        for role in names:
            if role not in roles:
                yield f"constraints.{place}", f"it references unknown agent {role!r}.{did_you_mean(role, roles)}"


NO_CONSTRAINTS: Final = HierarchicalConstraints()
