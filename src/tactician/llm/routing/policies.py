"""Which of the deployments that serve a model takes the next call."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Protocol, TypeAlias

from tactician.config import RoutingPolicy
from tactician.errors import ConfigurationError
from tactician.llm.routing.lane import Lane

PolicyName: TypeAlias = RoutingPolicy
Lanes: TypeAlias = tuple[Lane, ...]
IsReady: TypeAlias = Callable[[Lane], bool]
_MOST_OWED = 2
_position = attrgetter("position")


class Policy(Protocol):
    """How calls are spread. Each model has its own, and the rotation of its retries is another one."""

    def narrow(self, lanes: Lanes, session: str | None, now: float) -> Lanes:
        """Those of the lanes that this call may wait for; all of them, if the policy does not care."""
        ...

    def pick(self, lanes: Lanes, is_ready: IsReady) -> Lane | None:
        """The one that takes the call now; `None` when none of them can. What cannot start now is passed over."""
        ...


class OnlyOne:
    """The only deployment of a model, when it is ready."""

    __slots__ = ()

    def narrow(self, lanes: Lanes, session: str | None, now: float) -> Lanes:
        """Return all of them."""
        return lanes

    def pick(self, lanes: Lanes, is_ready: IsReady) -> Lane | None:
        """Return the one lane, if it is ready."""
        return lanes[0] if is_ready(lanes[0]) else None


class RoundRobin:
    """Each in its turn. One that cannot start now is passed over, and has its turn as soon as it can.

    That keeps the spread even under limits. Only so many turns are owed, or an instance that was away for an hour would
    be given all calls when it comes back.
    """

    __slots__ = ("_next", "_turns")

    def __init__(self) -> None:
        self._next = 0
        self._turns: defaultdict[int, int] = defaultdict(int)

    def narrow(self, lanes: Lanes, session: str | None, now: float) -> Lanes:
        """All of them."""
        return lanes

    def pick(self, lanes: Lanes, is_ready: IsReady) -> Lane | None:
        """Of those that are ready, the one that had the fewest turns, and the next one of several that had as few."""
        first, count, turns = self._next, len(lanes), self._turns
        if first >= count or lanes[first].position != first:
            first = bisect_left(lanes, first, key=_position)
        picked, fewest, most = None, 0, 0
        for offset in range(count):
            lane = lanes[(first + offset) % count]
            had = turns[lane.position]
            if had > most:
                most = had
            if (picked is None or had < fewest) and is_ready(lane):
                picked, fewest = lane, had
        if picked is not None:
            self._next = picked.position + 1
            turns[picked.position] = max(fewest, most - _MOST_OWED) + 1
        return picked


class LeastLoaded(RoundRobin):
    """The one with the fewest calls under way; each in its turn where several have as few."""

    __slots__ = ()

    def pick(self, lanes: Lanes, is_ready: IsReady) -> Lane | None:
        """The least loaded one that is ready."""
        ready = tuple(lane for lane in lanes if is_ready(lane))
        if len(ready) > 1:
            fewest = min([lane.in_flight for lane in ready])
            ready = tuple(lane for lane in ready if lane.in_flight == fewest)
        return super().pick(ready, _always)


class Sticky(RoundRobin):
    """The same session goes to the same instance while that is healthy; without a session, each in its turn.

    It keeps a provider's prompt cache warm, so a session waits for its instance's limits although others are free.
    Only when the instance rests do its sessions go elsewhere, and they come back when it does. Which instance that is
    follows from the names alone (rendezvous hashing, Thaler and Ravishankar 1998): in every process the same, and when
    one instance goes, only its own sessions move.
    """

    __slots__ = ()

    def narrow(self, lanes: Lanes, session: str | None, now: float) -> Lanes:
        """The session's own lane."""
        if session is None or len(lanes) == 1:
            return lanes
        healthy = [lane for lane in lanes if not lane.is_resting(now)]
        return (max(healthy or lanes, key=lambda lane: _score(session, lane.instance)),)


def _always(lane: Lane) -> bool:
    return True


@lru_cache(maxsize=65_536)
def _score(session: str, instance: str) -> bytes:
    return blake2b(f"{session}\0{instance}".encode(), digest_size=8).digest()


_POLICIES: Mapping[str, Callable[[], Policy]] = {
    "round_robin": RoundRobin,
    "least_loaded": LeastLoaded,
    "sticky": Sticky,
}


def policy_maker(policy: PolicyName | Callable[[], Policy]) -> Callable[[], Policy]:
    """What makes policies of this name.

    Raises:
        ConfigurationError: when there is no such policy.
    """
    if not isinstance(policy, str):
        return policy
    if (maker := _POLICIES.get(policy)) is None:
        raise ConfigurationError(f"There is no routing policy {policy!r}; there are {', '.join(_POLICIES)}.")
    return maker
