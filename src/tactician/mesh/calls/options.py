"""Options of calls over a mesh."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Final, Literal, cast, get_args

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.mesh.calls.policies import ACCEPT_WITHIN, MESH_BREAKER, Choice, Retries, StickyChoice
from tactician.mesh.messages.message import Priority
from tactician.mesh.messages.requests import MAX_KEY
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tactician.runs import Runnable
from tactician.suggestions import did_you_mean

PATIENCE: Final = 1.0
"""Seconds for which a run that can be suspended waits in memory."""
Late = Literal["error", "partial", "background"]
FallbackOn = Literal["unavailable", "any"]
SHARED: Final = frozenset({"user", "budget", "trace"})
_CHOICES: Final = ("soonest", "round_robin", "cheapest")


@frozen(kw_only=True)
class MeshCallOptions:
    """Options of a remote task.

    Attributes:
        on: name of the node; the soonest that offers the capability, when `None`.
        priority: rank among the requests that wait.
        deadline: time from the request on by which the reply is needed.
        must_meet_deadline: true to be refused at once when the node does not expect to meet the deadline.
        wait: how long the caller waits; as long as it takes, when `None`.
        late: what happens then: an error, the progress so far as the result, or an error while the work goes on.
        version: version of the capability that is needed.
        accept_within: seconds for which the caller waits for the acceptance.
        patience: seconds for which a run waits in memory before it is suspended.
        retries: retries of a request that no node has accepted.
        breaker: policy of the circuit breaker of each node that is asked.
        choose: choice among the nodes that offer the capability.
        fallback: a text, or a Runnable that gets the input, in place of a node that does not answer.
        fallback_on: `"unavailable"` when no node is reached, accepts or is in time; `"any"` for failed work, too.
        max_age: age up to which an earlier reply to the same input is taken.
        cache_key: key of the replies; the input, by default.
        share: what a request may carry into another realm beside its input and its deadline: `"user"`, `"budget"` and
            `"trace"`.

    Raises:
        ConfigurationError: when a time is no `timedelta`, or a value is not valid.
    """

    on: str | None = None
    priority: Priority = Priority.NORMAL
    deadline: timedelta | None = None
    must_meet_deadline: bool = False
    wait: timedelta | None = None
    late: Late = "error"
    version: str | None = None
    accept_within: float = ACCEPT_WITHIN
    patience: float = PATIENCE
    retries: Retries = Retries()
    breaker: CircuitBreakerPolicy = MESH_BREAKER
    choose: Choice = "soonest"
    fallback: str | Runnable | None = None
    fallback_on: FallbackOn = "unavailable"
    max_age: timedelta | None = None
    cache_key: str | None = None
    share: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse times and other values of another kind, before a node is asked."""
        for name, time in (("deadline", self.deadline), ("wait", self.wait), ("max_age", self.max_age)):
            check_time(name, time)
        if not isinstance(self.choose, StickyChoice) and self.choose not in _CHOICES:
            raise ConfigurationError(
                f"choose is {self.choose!r}; write 'soonest', 'round_robin', 'cheapest' or sticky('field')"
            )
        if self.cache_key is not None and len(self.cache_key) > MAX_KEY:
            raise ConfigurationError(f"cache_key has {len(self.cache_key):,} characters, and {MAX_KEY} are allowed")
        if self.fallback is not None and not isinstance(self.fallback, str) and not hasattr(self.fallback, "run"):
            raise ConfigurationError(f"fallback is {self.fallback!r}; write a text, or pass a Runnable")
        if unknown := sorted(set(self.share) - SHARED):
            raise ConfigurationError(f"share has {unknown[0]!r}; it may have {', '.join(sorted(SHARED))}")
        for policy, kind in ((self.retries, Retries), (self.breaker, CircuitBreakerPolicy)):
            if not isinstance(policy, kind):
                raise ConfigurationError(f"{policy!r} is no {kind.__name__}: write {kind.__name__}(...)")
        if self.priority not in tuple(Priority):
            raise ConfigurationError(f"priority is {self.priority!r}; write priority=Priority.HIGH")

    @classmethod
    def create(cls, **options: object) -> MeshCallOptions:
        """Return the options.

        Raises:
            ConfigurationError: when a name or a value is not valid.
        """
        if unknown := [name for name in options if name not in cls.__annotations__]:
            hint = did_you_mean(unknown[0], cls.__annotations__)
            raise ConfigurationError(f"A call of the mesh has no option {unknown[0]!r}.{hint}")
        if (late := options.get("late", "error")) not in get_args(Late):
            raise ConfigurationError(f"late is {late!r}; write 'error', 'partial' or 'background'")
        if (fallback_on := options.get("fallback_on", "unavailable")) not in get_args(FallbackOn):
            raise ConfigurationError(f"fallback_on is {fallback_on!r}; write 'unavailable' or 'any'")
        if "share" in options:
            options["share"] = frozenset(cast("Collection[str]", options["share"]))
        build: Callable[..., MeshCallOptions] = cls
        return build(**options)


def check_time(name: str, time: object) -> None:
    """Check a time that may be None.

    Raises:
        ConfigurationError: when it is something else than a `timedelta`, such as a number of seconds.
    """
    if time is not None and not isinstance(time, timedelta):
        raise ConfigurationError(f"{name} is {time!r}; write {name}=timedelta(minutes=30)")
