"""Routing policies: which deployment of a model takes the next call."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Protocol, TypeAlias

from tactician.config.model_settings import RoutingPolicy
from tactician.errors import ConfigurationError
from tactician.llm.routing.deployment_state import DeploymentState

PolicyName: TypeAlias = RoutingPolicy
DeploymentStates: TypeAlias = tuple[DeploymentState, ...]
IsReady: TypeAlias = Callable[[DeploymentState], bool]
_MOST_OWED = 2
_position = attrgetter("position")


class Policy(Protocol):
    """Policy that spreads calls. Each model has two policy objects of its own: the second spreads its retries."""

    def narrow(self, states: DeploymentStates, session: str | None, now: float) -> DeploymentStates:
        """Return the deployments that this call may wait for; all of them, if the policy does not restrict it."""
        ...

    def pick(self, states: DeploymentStates, is_ready: IsReady) -> DeploymentState | None:
        """Return the deployment that takes the call now, or `None` if none is ready."""
        ...


class SingleDeployment:
    """Policy for a model with a single deployment."""

    __slots__ = ()

    def narrow(self, states: DeploymentStates, session: str | None, now: float) -> DeploymentStates:
        """Return all deployments."""
        return states

    def pick(self, states: DeploymentStates, is_ready: IsReady) -> DeploymentState | None:
        """Return the only deployment, if it is ready."""
        return states[0] if is_ready(states[0]) else None


class RoundRobin:
    """Policy that gives each deployment its turn. A deployment that is not ready gets its turn later.

    That keeps the spread even under limits. The turns owed are limited, or an instance that was away for an hour would
    get all calls when it comes back.
    """

    __slots__ = ("_next", "_turns")

    def __init__(self) -> None:
        self._next = 0
        self._turns: defaultdict[int, int] = defaultdict(int)

    def narrow(self, states: DeploymentStates, session: str | None, now: float) -> DeploymentStates:
        """Return all deployments."""
        return states

    def pick(self, states: DeploymentStates, is_ready: IsReady) -> DeploymentState | None:
        """Return the ready deployment that had the fewest turns, and the next in order of those with as few."""
        first, count, turns = self._next, len(states), self._turns
        if first >= count or states[first].position != first:
            first = bisect_left(states, first, key=_position)
        picked, fewest, most = None, 0, 0
        for offset in range(count):
            state = states[(first + offset) % count]
            had = turns[state.position]
            if had > most:
                most = had
            if (picked is None or had < fewest) and is_ready(state):
                picked, fewest = state, had
        if picked is not None:
            self._next = picked.position + 1
            turns[picked.position] = max(fewest, most - _MOST_OWED) + 1
        return picked


class LeastLoaded(RoundRobin):
    """Policy that picks the deployment with the fewest running calls, in turn among those with as few."""

    __slots__ = ()

    def pick(self, states: DeploymentStates, is_ready: IsReady) -> DeploymentState | None:
        """Return the least loaded deployment that is ready."""
        ready = tuple(state for state in states if is_ready(state))
        if len(ready) > 1:
            fewest = min([state.in_flight for state in ready])
            ready = tuple(state for state in ready if state.in_flight == fewest)
        return super().pick(ready, _always)


class Sticky(RoundRobin):
    """Policy that sends a session to the same instance while that is healthy, and other calls in turn.

    This keeps a provider's prompt cache warm, so a session waits for its instance's limits although others are free.
    Only while the instance cools down do its sessions go elsewhere. Which instance serves a session
    follows from the names alone (rendezvous hashing, Thaler and Ravishankar 1998): in every process the same, and when
    an instance goes, only its own sessions move.
    """

    __slots__ = ()

    def narrow(self, states: DeploymentStates, session: str | None, now: float) -> DeploymentStates:
        """Return the session's own deployment."""
        if session is None or len(states) == 1:
            return states
        healthy = [state for state in states if not state.is_cooling_down(now)]
        return (max(healthy or states, key=lambda state: _score(session, state.instance)),)


def _always(state: DeploymentState) -> bool:
    return True


@lru_cache(maxsize=65_536)
def _score(session: str, instance: str) -> bytes:
    return blake2b(f"{session}\0{instance}".encode(errors="surrogatepass"), digest_size=8).digest()


_POLICIES: Mapping[str, Callable[[], Policy]] = {
    "round_robin": RoundRobin,
    "least_loaded": LeastLoaded,
    "sticky": Sticky,
}


def find_policy_factory(policy: PolicyName | Callable[[], Policy]) -> Callable[[], Policy]:
    """Return the function that creates policies of this name.

    Raises:
        ConfigurationError: when no policy has this name.
    """
    if not isinstance(policy, str):
        return policy
    if (maker := _POLICIES.get(policy)) is None:
        raise ConfigurationError(f"There is no routing policy {policy!r}; there are {', '.join(_POLICIES)}.")
    return maker
