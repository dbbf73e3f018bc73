"""Retries for calls that no router makes: those for embeddings and pictures."""

from __future__ import annotations

import random as chance
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tactician.errors import ModelError
from tactician.llm.routing.clock import SYSTEM_CLOCK, Clock
from tactician.llm.routing.retries import Failure, Random, RetryPolicy, failure_of

T = TypeVar("T")


async def tried_again(
    call: Callable[[], Awaitable[T]],
    retries: RetryPolicy | None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    random: Random = chance.random,
) -> T:
    """What the call gives. One that fails is made again as the policy says, without one never.

    There is one place that can be asked: what its content filter refused is refused for good. No attempt begins after
    the deadline.

    Raises:
        ModelError: that of the last attempt.
    """
    began, attempts = clock.now(), 0
    while True:
        try:
            return await call()
        except ModelError as error:
            failure = failure_of(error)
            if retries is None or failure is Failure.CONTENT_FILTER:
                raise
            attempts += 1
            rule = retries.rule(failure)
            pause = error.retry_after or rule.pause(attempts, random)
            if attempts >= rule.attempts or clock.now() + pause >= began + retries.deadline:
                raise
        await clock.sleep(pause)
