"""Circuit breakers of the nodes that a program asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count

from tactician.clock import Clock, wait_for_event
from tactician.mesh.call import MeshCall
from tactician.resilience.circuit_breaker import CircuitBreaker, CircuitBreakerPolicy

Withdraw = Callable[[], Awaitable[None]]


class NodeCircuit:
    """Circuit breaker of the requests of a program to a node.

    Requests that the node has not accepted are withdrawn as the circuit opens, so that a node that comes back does not
    do what its caller has done otherwise; from then on, nothing is sent.

    Args:
        policy: policy of the breaker.
        clock: the time.

    Attributes:
        policy: the policy.
    """

    def __init__(self, policy: CircuitBreakerPolicy, clock: Clock) -> None:
        self.policy = policy
        self._breaker = CircuitBreaker(policy)
        self._clock = clock
        self._numbers = count(1)
        self._unaccepted: dict[MeshCall, Withdraw] = {}
        self._opening = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """True when the circuit is open or half-open."""
        return self._breaker.is_open

    @property
    def seconds_left(self) -> float:
        """Seconds until the next request may be sent; 0 when it may be sent now, infinite while a trial is running."""
        return max(0.0, self._breaker.available_at - self._clock.monotonic())

    def begin(self) -> int:
        """Return the number of a request that is about to be sent: the trial, if the circuit is half-open."""
        number = next(self._numbers)
        if self._breaker.is_open:
            self._breaker.begin_trial(number)
        return number

    @contextmanager
    def track(self, call: MeshCall, withdraw: Withdraw) -> Iterator[None]:
        """Withdraw a request if the circuit opens inside the `with` block."""
        self._unaccepted[call] = withdraw
        try:
            yield
        finally:
            self._unaccepted.pop(call, None)

    async def wait_until_open(self, seconds: float) -> bool:
        """Wait for so many seconds, and return whether the circuit has opened meanwhile."""
        return await wait_for_event(self._opening, seconds, self._clock)

    def record_success(self, number: int) -> bool:
        """Count an answer of the node, and return whether it closed the circuit."""
        return self._breaker.record_success(number)

    def end_trial(self, number: int) -> None:
        """End a trial without a verdict."""
        self._breaker.end_trial(number)

    async def record_failure(self, number: int) -> float | None:
        """Count a failure, and return the seconds for which the circuit is open if it opened the circuit."""
        cooldown = self._breaker.record_failure(number, self._clock.monotonic(), 0.0)
        if cooldown is None:
            return None
        unaccepted, self._unaccepted = self._unaccepted, {}
        for call, withdraw in unaccepted.items():
            if not call.is_accepted:
                await withdraw()
                call.give_up()
        self._opening.set()
        self._opening = asyncio.Event()
        return cooldown


class Circuits:
    """Circuits of the nodes that a program asks.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._circuits: dict[str, list[NodeCircuit]] = {}

    def find(self, queue: str, policy: CircuitBreakerPolicy) -> NodeCircuit:
        """Return the circuit of the node with a queue."""
        circuits = self._circuits.setdefault(queue, [])
        for circuit in circuits:
            if circuit.policy == policy:
                return circuit
        circuits.append(NodeCircuit(policy, self._clock))
        return circuits[-1]

    def is_closed(self, queue: str, policy: CircuitBreakerPolicy) -> bool:
        """Return whether a request may be sent to the node with a queue now, be it as a trial."""
        return not any(
            circuit.is_open and circuit.policy == policy and circuit.seconds_left > 0
            for circuit in self._circuits.get(queue, ())
        )
