"""Thousands of calls through 3 instances, of which one fails half of the time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from tactician.errors import ModelConnectionError, ModelError, ModelServerError, RateLimitError
from tactician.events import Event
from tactician.llm import CircuitClosed, CircuitOpened, ModelRequest, ModelResponse, RequestRouted
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.policies import PolicyName
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, answer, ask
from tests.support.effort import EFFORT

pytestmark = pytest.mark.soak
CALLS = 2_000 * EFFORT
RATE, CONCURRENCY = 100.0, 25
ERRORS: Sequence[ModelError] = (
    ModelServerError("down", status=503),
    ModelConnectionError("broken off"),
    RateLimitError("busy", status=429),
    RateLimitError("busy", status=429, retry_after=0.2),
)


class Instance(FakeModel):
    """Answers with the prompt after a random time, and counts how often each prompt was answered."""

    def __init__(self, clock: FakeClock, seed: int, failing: float) -> None:
        super().__init__(clock, decide=self._decision)
        self.chance = random.Random(seed)
        self.failing = failing
        self.errors = ERRORS
        self.answers: Counter[str] = Counter()

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self._seconds = self.chance.uniform(0.05, 0.4)
        return await super().generate(request)

    def _decision(self, request: ModelRequest) -> ModelResponse | ModelError:
        if self.chance.random() < self.failing:
            return self.chance.choice(self.errors)
        self.answers[request.prompt] += 1
        return answer(request.prompt)


def soak(
    circuit_breaker: CircuitBreakerPolicy, policy: PolicyName
) -> tuple[list[Instance], ModelRouter, list[ModelResponse]]:
    clock = FakeClock()
    instances = [Instance(clock, seed, failing) for seed, failing in enumerate([0.0, 0.0, 0.5])]
    router = ModelRouter(
        [Deployment(name, "m", one, RATE, None, CONCURRENCY) for name, one in zip("abc", instances, strict=True)],
        policy=policy, circuit_breaker=circuit_breaker, clock=clock, random=random.Random(7).random,
    )  # fmt: skip
    return instances, router, clock.run(calls(router))


@pytest.mark.parametrize(
    "circuit_breaker",
    [CircuitBreakerPolicy(failure_threshold=0), CircuitBreakerPolicy()],
    ids=["without circuit_breaker", "with circuit_breaker"],
)
@pytest.mark.parametrize("policy", ["round_robin", "least_loaded"])
def test_every_call_has_one_answer_and_no_limit_is_exceeded(
    circuit_breaker: CircuitBreakerPolicy, policy: PolicyName
) -> None:
    instances, router, responses = soak(circuit_breaker, policy)

    assert [response.message.text for response in responses] == [str(number) for number in range(CALLS)]
    answered = sum((one.answers for one in instances), Counter())
    assert set(answered.values()) == {1}, "exactly one answer was made for each call: none twice, none for nothing"
    assert len(answered) == CALLS

    for one in instances:
        assert one.peak <= CONCURRENCY
        assert all(b - a >= 1 / RATE - 1e-6 for a, b in zip(one.starts, one.starts[1:], strict=False))

    statuses = router.status()
    assert [status.requests for status in statuses] == [len(one.starts) for one in instances]
    assert [status.answers for status in statuses] == [one.answers.total() for one in instances]
    assert all(status.requests == status.answers + status.failures for status in statuses)
    assert [status.in_flight for status in statuses] == [0, 0, 0]
    assert router.usage().requests == CALLS

    good = [len(one.starts) for one in instances[:2]]
    assert abs(good[0] - good[1]) <= 0.05 * sum(good) / 2, "the two that work carry the same, retries included"


@pytest.mark.parametrize(
    "circuit_breaker",
    [CircuitBreakerPolicy(failure_threshold=0), CircuitBreakerPolicy()],
    ids=["without circuit_breaker", "with circuit_breaker"],
)
def test_first_attempts_are_spread_evenly_over_those_that_may_be_called(circuit_breaker: CircuitBreakerPolicy) -> None:
    """Count where each call was sent first, while no circuit is open and no instance asks to be left alone.

    Attempts and answers cannot be even: retries go away from what failed, and only those that work answer them.
    """
    clock, events = FakeClock(), list[Event]()
    instances = [Instance(clock, seed, failing) for seed, failing in enumerate([0.0, 0.0, 0.5])]
    for one in instances:
        one.errors = ERRORS[:3]
    router = ModelRouter(
        [Deployment(name, "m", one, RATE, None, CONCURRENCY) for name, one in zip("abc", instances, strict=True)],
        circuit_breaker=circuit_breaker, clock=clock, random=random.Random(7).random, on_event=events.append,
    )  # fmt: skip
    clock.run(calls(router))

    healthy, tripped = first_attempts(events)
    assert healthy.total() + tripped.total() == CALLS
    assert bool(tripped) == bool(circuit_breaker.failure_threshold)
    assert_even(healthy, "abc")
    assert_even(tripped, "ab")


def first_attempts(events: Sequence[Event]) -> tuple[Counter[str], Counter[str]]:
    """Where calls were sent first: while no circuit was open, and while one was, until it had answered its trial."""
    healthy, tripped = Counter[str](), Counter[str]()
    counted = healthy
    for event in events:
        if isinstance(event, CircuitOpened):
            counted = tripped
        elif isinstance(event, CircuitClosed):
            counted = healthy
        elif isinstance(event, RequestRouted) and event.reason == "round_robin":
            counted[event.instance] += 1
    return healthy, tripped


def assert_even(spread: Counter[str], names: str) -> None:
    even = sum(spread[name] for name in names) / len(names)
    assert all(abs(spread[name] - even) <= 0.05 * even for name in names), spread


async def calls(router: ModelRouter) -> list[ModelResponse]:
    """All calls, as they come: at random, 150 a second."""
    chance, tasks = random.Random(42), []
    for number in range(CALLS):
        tasks.append(asyncio.create_task(router.generate(ask(str(number)))))
        await asyncio.sleep(chance.expovariate(150.0))
    return await asyncio.gather(*tasks)
