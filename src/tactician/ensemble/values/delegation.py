"""Delegations: requests that another agent do a task, their responses, and the policies that decide on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from pydantic import JsonValue
from typing_extensions import TypeForm

from tactician.amounts import Count, Positive
from tactician.ensemble.values.argument_kinds import (
    COUNT,
    LIST,
    MAPPING,
    TEXT,
    ArgumentKind,
    as_list,
    replace_strangers,
)
from tactician.errors import DeclarationError
from tactician.events.event import new_id
from tactician.loop import output_type
from tactician.suggestions import suggest_options

DEFAULT_MAX_DEPTH: Final = 3


class DelegationPriority(StrEnum):
    """Priority of a delegation, as a hint for the worker, policies and listeners."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class DelegationStatus(StrEnum):
    """Outcome of a delegation."""

    SUCCESS = "success"
    """The worker has returned a usable output."""
    FAILURE = "failure"
    """The delegation was not allowed, or the worker failed. The errors of the response say why."""
    PARTIAL = "partial"
    """The worker has returned an output that is empty or was cut off, or is an ensemble that ended early."""


_REQUEST_KINDS: Final = {
    **dict.fromkeys(("role", "task", "expected_output", "id"), TEXT),
    **dict.fromkeys(("scope", "metadata"), MAPPING),
    "priority": ArgumentKind(
        "a DelegationPriority", lambda value: isinstance(value, DelegationPriority), lambda _: DelegationPriority.NORMAL
    ),
    "max_output_retries": COUNT,
}


@dataclass(frozen=True, slots=True)
class DelegationRequest:
    """Request of an agent that another agent do a task. `dataclasses.replace` makes a changed request for `modify`.

    Attributes:
        role: the role of the worker.
        task: what is to be done.
        expected_output: description of the output.
        scope: JSON values by names that bound the task; the worker reads them, and a handler has them as `values`.
        priority: how urgent the task is; a hint.
        output_type: the type of the output; the type of the worker by default.
        max_output_retries: number of further attempts at a valid output of the output type.
        metadata: JSON values for policies and audits, which neither the worker nor a model sees.
        id: the id that the response and the events have too; a random id by default.

    Raises:
        DeclarationError: when the number of retries is negative, or an argument is of another kind.
    """

    role: str
    task: str
    _: KW_ONLY
    expected_output: str = ""
    scope: Mapping[str, JsonValue] = field(default_factory=dict)
    priority: DelegationPriority = DelegationPriority.NORMAL
    output_type: TypeForm[object] | None = None
    max_output_retries: Count = 0
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if self.priority in [*DelegationPriority]:
            object.__setattr__(self, "priority", DelegationPriority(self.priority))
        problems = [f"{place}: {message}" for place, message in replace_strangers(self, _REQUEST_KINDS)]
        if self.max_output_retries < 0:
            problems.append(f"max_output_retries must be >= 0, got: {self.max_output_retries}")
        if problems:
            raise DeclarationError("DelegationRequest", problems)
        object.__setattr__(self, "scope", MappingProxyType(dict(self.scope)))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))


@dataclass(frozen=True, slots=True)
class DelegationResponse:
    """Response to a delegation, also when the delegation was not allowed.

    Attributes:
        id: the id of the request.
        status: the outcome.
        role: the role of the worker.
        raw: the output as text; `None` after a failure.
        parsed: the output as an object, when it is not text; else `None`.
        artifacts: what the worker gave beside its output: of an ensemble, the texts of its tasks by their ids.
        errors: why the delegation failed; empty after a success.
        metadata: the metadata of the request.
        duration: seconds from the request to the response, waiting included.
    """

    id: str
    status: DelegationStatus
    role: str
    raw: str | None = None
    parsed: object = None
    artifacts: Mapping[str, object] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    duration: float = 0.0


@dataclass(frozen=True, slots=True)
class DelegationContext:
    """Situation in which a policy decides.

    Attributes:
        delegator: the role of the agent that delegates.
        depth: number of delegations around this delegation, those around the ensemble included.
        max_depth: number of delegations that may be inside each other.
        roles: the roles of the workers.
    """

    delegator: str
    depth: int
    max_depth: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DelegationDecision:
    """Decision of a policy, made by `allow`, `reject` or `modify`.

    Attributes:
        rejection: why the delegation may not run; `None` when it may.
        request: the request to run instead; `None` for the same.
    """

    rejection: str | None = None
    request: DelegationRequest | None = None


DelegationPolicy: TypeAlias = Callable[
    [DelegationRequest, DelegationContext], DelegationDecision | Awaitable[DelegationDecision]
]
"""Sync or async function that decides on each delegation before it runs."""


def allow() -> DelegationDecision:
    """Let a delegation run, if the other policies do."""
    return DelegationDecision()


def reject(reason: str) -> DelegationDecision:
    """Refuse a delegation; the agent that delegates reads the reason. No other policy is asked."""
    return DelegationDecision(rejection=reason)


def modify(request: DelegationRequest) -> DelegationDecision:
    """Replace a request. Later policies see the new request, and all other checks are done again."""
    return DelegationDecision(request=request)


@suggest_options
@dataclass(frozen=True, slots=True)
class Delegation:
    """Settings of the delegations in an ensemble, between agents with `allow_delegation=True` and by a manager.

    Args:
        max_depth: number of delegations that may be inside each other, those around the ensemble included.
        policies: functions of the request and a `DelegationContext` that `allow`, `reject` or `modify` it, in order.
        output_types: types that a delegation may ask for by their names.

    Raises:
        DeclarationError: with all mistakes.
    """

    max_depth: Positive = DEFAULT_MAX_DEPTH
    policies: Sequence[DelegationPolicy] = ()
    output_types: Sequence[type[object]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "policies", as_list(self.policies))
        object.__setattr__(self, "output_types", as_list(self.output_types))
        kinds = {"max_depth": COUNT, "policies": LIST, "output_types": LIST}
        problems = [f"{place}: {message}" for place, message in replace_strangers(self, kinds)]
        if problems := [*problems, *self._find_mistakes()]:
            raise DeclarationError("Delegation", problems)

    @property
    def types_by_name(self) -> Mapping[str, type[object]]:
        """The output types by their names."""
        return {output_type(kind).name: kind for kind in self.output_types}

    def _find_mistakes(self) -> Iterator[str]:
        if self.max_depth < 1:
            yield f"max_depth must be > 0, got: {self.max_depth}"
        policies: Sequence[object] = self.policies
        for number, policy in enumerate(policies):
            if not callable(policy):
                yield f"policies[{number}]: {policy!r} is not a function"
        names: set[str] = set()
        for number, kind in enumerate(self.output_types):
            try:
                name = output_type(kind).name
            except Exception as error:  # also of pydantic, which takes a text for an annotation
                yield f"output_types[{number}]: pydantic cannot describe {kind!r}: {str(error).partition(chr(10))[0]}"
                continue
            if name in names:
                yield f"output_types[{number}]: two output types have the name {name!r}"
            names.add(name)
