"""Resilience at the caller: retries, circuit breakers, fallbacks, earlier replies, and what each event says."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tactician import MemoryStore, Platform, Runnable, runnable
from tactician.errors import (
    ConfigurationError,
    MeshUnavailableError,
    RequestFailedError,
    RequestRejectedError,
    RequestTimeoutError,
)
from tactician.events import Event
from tactician.llm import CircuitBreakerPolicy
from tactician.mesh import (
    BreakerClosed,
    BreakerOpened,
    Delivery,
    FallbackUsed,
    Mesh,
    Node,
    ReplyReused,
    RequestResent,
    RequestSent,
    Retries,
    sticky,
)
from tactician.mesh.calls.ticket import Ticket
from tactician.mesh.transports.transport import TransportError
from tactician.testing import FakeClock, ScriptedModel

CLOSED = "The kitchen is closed."
QUICK = Retries(3, base=0.01, longest=0.01)
ONCE = Retries(0)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@runnable
async def cook(order: str) -> str:
    """Cook a meal."""
    return f"{order} is ready"


@runnable
async def sandwich(order: str) -> str:
    """Make a sandwich."""
    return f"a sandwich for {order}"


def create_node(mesh: Mesh, *works: object, **options: int) -> Node:
    node = Node(
        "kitchen", Platform(ScriptedModel(), store=MemoryStore()), mesh, queue_limit=options.get("queue_limit", 1000)
    )
    for work in works or (cook,):
        node.offer(work)
    return node


def listen() -> tuple[list[Event], Platform]:
    heard: list[Event] = []
    return heard, Platform(ScriptedModel(), on_event=heard.append)


def pick(heard: list[Event], *kinds: type[Event]) -> list[Event]:
    return [event for event in heard if isinstance(event, kinds)]


async def test_a_broker_that_comes_back_takes_the_request_with_the_same_id(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, platform = listen()
    async with Mesh(url) as mesh, create_node(mesh):
        send, failures = mesh.transport.send, ["first", "second"]

        async def fail_twice(queue: str, body: bytes) -> None:
            if queue.endswith("/kitchen") and failures:
                raise TransportError(f"no answer: {failures.pop()}")
            await send(queue, body)

        monkeypatch.setattr(mesh.transport, "send", fail_twice)
        result = await mesh.task("cook", on="kitchen", retries=QUICK).run("Ramen", context=platform.context())

    assert result.output == "Ramen is ready"
    resent = pick(heard, RequestResent)
    assert [(event.attempt, event.reason) for event in resent if isinstance(event, RequestResent)] == [
        (1, "unreachable"),
        (2, "unreachable"),
    ]
    assert len(pick(heard, RequestSent)) == 1


async def test_a_failure_of_the_work_is_not_tried_again(url: str) -> None:
    runs: list[str] = []

    @runnable
    async def burn(order: str) -> str:
        runs.append(order)
        raise ValueError("burnt")

    async with Mesh(url) as mesh, create_node(mesh, burn):
        with pytest.raises(RequestFailedError, match="burnt"):
            await mesh.task("burn", retries=QUICK, fallback=CLOSED).run("Ramen")
        result = await mesh.task("burn", fallback=CLOSED, fallback_on="any").run("Ramen")
    assert (runs, result.output) == (["Ramen", "Ramen"], CLOSED)


@pytest.mark.parametrize("fallback", [CLOSED, sandwich], ids=["text", "Runnable"])
async def test_a_fallback_answers_when_no_node_accepts(url: str, fallback: str | Runnable) -> None:
    heard, platform = listen()
    async with Mesh(url) as mesh:
        task = mesh.task("cook", on="kitchen", accept_within=0.01, retries=ONCE, fallback=fallback)
        result = await task.run("Ramen", context=platform.context())

    assert result.output == (CLOSED if isinstance(fallback, str) else "a sandwich for Ramen")
    (used,) = pick(heard, FallbackUsed)
    assert isinstance(used, FallbackUsed)
    assert used.fallback == ("text" if isinstance(fallback, str) else "sandwich")
    assert "has not accepted" in used.reason


async def test_another_capability_is_a_fallback_and_hides_no_mistake_of_the_caller(url: str) -> None:
    def bake(dish: str) -> str:
        """Bake a dish."""
        return dish

    async with Mesh(url) as mesh, create_node(mesh, sandwich, bake):
        other = mesh.task("sandwich")
        result = await mesh.task("cook", on="bar", accept_within=0.01, retries=ONCE, fallback=other).run("Ramen")
        with pytest.raises(RequestRejectedError, match="JSON object"):
            await mesh.task("bake", fallback=other).run("Ramen")
    assert result.output == "a sandwich for Ramen"


async def test_a_fallback_answers_for_a_reply_that_is_late_and_the_work_is_cancelled(url: str) -> None:
    events: list[str] = []

    @runnable
    async def wait(order: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")
        return order

    async with Mesh(url) as mesh, create_node(mesh, wait):
        late = mesh.task("wait", wait=timedelta(seconds=0.05), fallback=CLOSED)
        assert (await late.run("Ramen")).output == CLOSED
        task = mesh.task("wait", wait=timedelta(seconds=0.05), late="background", fallback=CLOSED)
        with pytest.raises(RequestTimeoutError) as timeout:
            await task.run("Ramen")
        ticket = timeout.value.ticket
        assert isinstance(ticket, Ticket)
        await ticket.cancel()  # or the node would finish the work before it stops
    assert "ended" in events


async def test_work_that_the_fallback_has_answered_is_not_done_when_the_node_comes(url: str) -> None:
    runs: list[str] = []

    @runnable
    async def cook_once(order: str) -> str:
        runs.append(order)
        return order

    async with Mesh(url) as mesh:
        task = mesh.task("cook_once", on="kitchen", accept_within=0.01, retries=ONCE, fallback=CLOSED)
        assert (await task.run("Ramen")).output == CLOSED
        node = create_node(mesh, cook_once)
        async with node:
            assert (await mesh.task("cook_once").run("Soup")).output == "Soup"
    assert runs[-1] == "Soup"
    assert runs.count("Ramen") <= 1


async def test_a_circuit_opens_sends_nothing_while_it_is_open_and_closes_by_a_trial(url: str) -> None:
    clock = FakeClock(sleeps_wait=True)
    heard, platform = listen()
    breaker = CircuitBreakerPolicy(failure_threshold=2, window=60, cooldown=300, max_cooldown=300)
    async with Mesh(url, clock=clock) as mesh, Mesh(url, clock=clock) as other:
        task = mesh.task("cook", on="kitchen", retries=ONCE, breaker=breaker)
        broker, context = mesh.transport, platform.context()
        sent: list[float] = []
        send = broker.send

        async def note(queue: str, body: bytes) -> None:
            sent.append(clock.monotonic())
            await send(queue, body)

        broker.send = note  # type: ignore[method-assign]

        async def fail() -> str:
            with pytest.raises(MeshUnavailableError) as error:
                await task.run("Ramen", context=context)
            return error.value.reason

        asking = [asyncio.create_task(fail()) for _ in range(3)]
        await clock.run_for(11)
        assert sorted([await call for call in asking]) == ["circuit_open", "not_accepted", "not_accepted"]
        (opened,) = pick(heard, BreakerOpened)
        assert isinstance(opened, BreakerOpened)
        assert (opened.node, opened.seconds) == ("kitchen", 300.0)

        packets = len(sent)
        await clock.run_for(200)
        assert await fail() == "circuit_open"
        assert len(sent) == packets

        await clock.run_for(100)
        node = create_node(other)
        async with node:
            trial = asyncio.create_task(task.run("Ramen", context=context))
            await clock.run_for(5)
            assert (await trial).output == "Ramen is ready"
            assert len(pick(heard, BreakerClosed)) == 1


async def test_an_earlier_reply_is_taken_by_key_and_age(url: str) -> None:
    runs: list[str] = []

    @runnable
    async def forecast(place: str) -> str:
        runs.append(place)
        return f"{place} {len(runs)}"

    heard, platform = listen()
    async with Mesh(url) as mesh, create_node(mesh, forecast):
        hour, moment = timedelta(hours=1), timedelta(microseconds=1)
        task, keyed = mesh.task("forecast", max_age=hour), mesh.task("forecast", max_age=hour, cache_key="weather")

        async def ask(place: str, by: Runnable = task) -> object:
            return (await by.run(place, context=platform.context())).output

        assert [await ask("Rome"), await ask("Rome"), await ask("Oslo")] == ["Rome 1", "Rome 1", "Oslo 2"]
        assert [await ask("Rome", keyed), await ask("Oslo", keyed)] == ["Rome 3", "Rome 3"]
        assert await ask("Rome", mesh.task("forecast", max_age=moment)) == "Rome 4"
    assert len(pick(heard, ReplyReused)) == 2


async def test_a_ticket_has_the_answer_of_the_fallback(url: str) -> None:
    async with Mesh(url) as mesh, mesh.open_subscription("repairs") as events:
        ticket = await mesh.submit(
            "repair",
            "Boiler 2",
            on="maintenance",
            accept_within=0.01,
            retries=ONCE,
            fallback="Call 555.",
            deliver=Delivery.topic("repairs"),
        )
        value = (await anext(events)).value
        assert isinstance(value, dict)
        assert (await ticket.result(timeout=5), value["output"]) == ("Call 555.", "Call 555.")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"choose": "fastest"}, "soonest"),
        ({"fallback": 3}, "a text"),
        ({"fallback_on": "never"}, "unavailable"),
        ({"max_age": 60}, "timedelta"),
        ({"retries": 3}, "Retries"),
        ({"share": ["password"]}, "password"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(url: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        Mesh(url).task("cook", **options)  # type: ignore[arg-type]
    assert sticky("guest").field == "guest"
