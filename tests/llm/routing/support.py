"""Virtual time and models that obey: what the tests of the router run on."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeAlias, TypeVar

from tactician.clock import Timer
from tactician.errors import ModelError
from tactician.llm import AssistantMessage, Features, LlmOptions, ModelRequest, ModelResponse, Text, Usage, UserMessage
from tactician.llm.model import Delta, FinishReason, TextDelta
from tactician.llm.routing.deployment import Deployment

T = TypeVar("T")
Outcome: TypeAlias = ModelResponse | ModelError | None
ALL = Features(tools=True, json_schema=True, images=True)


class FakeClock:
    """Time that stands still while anything can run, and then goes straight to the next timer.

    The clock outlives event loops: the second one goes on where the first one ended.
    """

    def __init__(self) -> None:
        self.current = 1000.0

    def monotonic(self) -> float:
        return self.current

    def time(self) -> float:
        return self.current

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Runs a program in a new event loop that goes by this clock."""
        with asyncio.Runner(loop_factory=lambda: _VirtualLoop(self)) as runner:
            return runner.run(main)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self.clock.current


class _Selector(selectors.SelectSelector):
    """Where a loop would wait for its next timer, time passes at once."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and no timer is set: a deadlock")
        self._clock.current += max(0.0, timeout)
        return super().select(0)


def virtual(test: Callable[[FakeClock], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test in virtual time."""

    def run() -> None:
        clock = FakeClock()
        clock.run(test(clock))

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    return run


def answer(text: str = "yes", *, tokens: int = 10, finish_reason: FinishReason = "stop") -> ModelResponse:
    return ModelResponse(AssistantMessage((Text(text),)), Usage(tokens, 0, requests=1), finish_reason)


class FakeModel:
    """Answers after some seconds, with the next of its outcomes, and then with "yes" for ever.

    Attributes:
        starts: when each call began.
        requests: what was asked.
        peak: how many calls were ever under way at once.
    """

    def __init__(
        self,
        clock: FakeClock,
        *outcomes: Outcome,
        seconds: float = 0.0,
        features: Features = ALL,
        decide: Callable[[ModelRequest], Outcome] | None = None,
    ) -> None:
        self.name = "fake"
        self.features = features
        self.starts: list[float] = []
        self.requests: list[ModelRequest] = []
        self.active = self.peak = 0
        self.deltas: tuple[str, ...] = ()
        self._clock = clock
        self._outcomes = list(outcomes)
        self._seconds = seconds
        self._decide = decide

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.requests]

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.starts.append(self._clock.monotonic())
        self.requests.append(request)
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            if self._seconds:
                await asyncio.sleep(self._seconds)
            outcome = self._decide(request) if self._decide else self._outcomes.pop(0) if self._outcomes else None
        finally:
            self.active -= 1
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome or answer()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        response = await self.generate(request)
        for text in self.deltas:
            yield TextDelta(text)
        yield response


def ask(prompt: str = "hello", model: str | None = "m", **options: Any) -> ModelRequest:  # noqa: ANN401
    return ModelRequest((UserMessage(prompt),), options=LlmOptions(model=model, **options))


def deployed(model: str = "m", /, **models: FakeModel) -> list[Deployment]:
    """One deployment for each instance."""
    return [Deployment(instance, model, serves) for instance, serves in models.items()]


async def together(calls: Iterable[Awaitable[T]]) -> list[T | BaseException]:
    return await asyncio.gather(*calls, return_exceptions=True)


async def settled() -> None:
    """Lets everything run that can, without any time passing."""
    for _ in range(20):
        await asyncio.sleep(0)
