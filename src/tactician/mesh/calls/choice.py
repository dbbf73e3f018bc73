"""Choice among the nodes that offer a capability: the own realm comes first, and then the choice of the caller."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from tactician.clock import Clock
from tactician.frozen import frozen
from tactician.mesh.calls.policies import MESH_BREAKER, Choice, StickyChoice
from tactician.mesh.circuits import Circuits
from tactician.mesh.directory import Directory, Offering
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy

_MASK: Final = 2**64 - 1


@frozen(kw_only=True)
class ChoiceQuery:
    """Facts on which a choice among nodes depends.

    Attributes:
        capability: name of the capability.
        version: version that is needed; any, when `None`.
        choose: the choice of the caller.
        breaker: policy of the circuit breaker.
        deadline: time by which the reply is needed, in seconds since the epoch.
        input: the input, for a sticky choice.
        refused: queues of the nodes that were asked before.
    """

    capability: str
    version: str | None = None
    choose: Choice = "soonest"
    breaker: CircuitBreakerPolicy = MESH_BREAKER
    deadline: float | None = None
    input: object = None
    refused: Collection[str] = ()


class ProviderChoice:
    """Choice of a caller among the nodes of a mesh.

    Args:
        realm: realm of the caller.
        directory: the cards of the nodes.
        circuits: circuits of the nodes.
        clock: the time.
    """

    def __init__(self, realm: str, directory: Directory, circuits: Circuits, clock: Clock) -> None:
        self._realm = realm
        self._directory = directory
        self._circuits = circuits
        self._clock = clock
        self._turns: Counter[str] = Counter()

    def choose(self, query: ChoiceQuery) -> tuple[Offering, str] | None:
        """Return the node to ask, and the reason; `None` when nobody may be asked now.

        Nodes that are full, or too slow for the deadline, are asked only when no other node is there. A node of another
        realm is asked when the own realm has no node that could do the work.
        """
        providers = self._directory.list_providers(self._realm, query.capability, query.version)
        candidates = self._find_candidates(providers, query)
        if not candidates:
            return None
        chosen, reason = self._choose(candidates, query)
        if chosen.realm != self._realm:
            reason = f"{reason}, in the realm {chosen.realm}: {self._explain_spill(providers, query)}"
        return chosen, reason

    def _find_candidates(self, providers: Sequence[Offering], query: ChoiceQuery) -> Sequence[Offering]:
        refused, breaker = query.refused, query.breaker
        reachable = [
            provider
            for provider in providers
            if provider.queue not in refused and self._circuits.is_closed(provider.queue, breaker)
        ]
        longest = float("inf") if query.deadline is None else query.deadline - self._clock.time()
        ready = [provider for provider in reachable if not provider.is_full and provider.seconds <= longest]
        group = ready or reachable
        local = [provider for provider in group if provider.realm == self._realm]
        return local or group

    def _choose(self, candidates: Sequence[Offering], query: ChoiceQuery) -> tuple[Offering, str]:
        among = f"of {len(candidates)}"
        match query.choose:
            case StickyChoice(field=field):
                key = _hash(_read_key(query.input, field))
                best = max(candidates, key=lambda candidate: _mix(_hash(candidate.queue) ^ key))
                return best, f"sticky by {field} {among}"
            case "round_robin":
                turn = self._turns[query.capability]
                self._turns[query.capability] += 1
                in_order = sorted(candidates, key=lambda candidate: candidate.queue)
                return in_order[turn % len(in_order)], f"next in turn {among}"
            case "cheapest":
                # A node without a measured price is tried, or its price would never be measured.
                cheapest = min(candidates, key=lambda candidate: (candidate.capability.price or 0.0, candidate.seconds))
                return cheapest, f"cheapest {among}"
        return candidates[0], f"soonest {among}"

    def _explain_spill(self, providers: Sequence[Offering], query: ChoiceQuery) -> str:
        """Return why the own realm does not do the work."""
        local = [provider for provider in providers if provider.realm == self._realm]
        if not local:
            return "the own realm has no such node"
        if all(not self._circuits.is_closed(provider.queue, query.breaker) for provider in local):
            return "the own nodes do not answer"
        if all(provider.is_full or provider.queue in query.refused for provider in local):
            return "the own nodes are full or have refused"
        return "the own nodes are full, refuse, or are too slow for the deadline"


def _read_key(value: object, field: str) -> str:
    """Return the value that the choice sticks to."""
    chosen = value[field] if isinstance(value, Mapping) and field in value else value
    return chosen if isinstance(chosen, str) else json.dumps(chosen, sort_keys=True, default=str)


@lru_cache(maxsize=4096)
def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _mix(number: int) -> int:
    """Return the weight of a node for a key (rendezvous hashing), the finalizer of SplitMix64."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31
