"""Inputs of runs that workers begin: the same as those of runs that the caller begins, or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr
from typing_extensions import override

from tactician import Agent, Platform, RunContext, RunResult, RunStatus, runnable
from tactician.agents import BaseRunnable, ParallelAgents, RouterAgent
from tactician.agents.flows import repeat_until, scatter_gather, simple_agent
from tactician.errors import StoredStateError
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.loop.output import InvalidOutput
from tactician.platform import Worker
from tactician.process import ask_human
from tactician.runs import Input, Runnable
from tactician.runs.life.inputs import InputTypes
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel
from tests.runs.kinds import KINDS, Kind, draw_portrait
from tests.support.effort import examples
from tests.support.stored import JsonStore


@dataclass
class Order:
    number: int


class Customer(BaseModel):
    name: str = Field(alias="fullName")
    since: date


class Login(BaseModel):
    password: SecretStr


taken: list[object] = []


async def take_text(text: str, context: RunContext) -> None:
    taken.append(text)


async def take_message(message: UserMessage, context: RunContext) -> None:
    taken.append(message)


async def take_messages(messages: tuple[Message, ...], context: RunContext) -> None:
    taken.append(messages)


async def take_order(order: Order, context: RunContext) -> None:
    taken.append(order)


async def take_orders(orders: list[Order], context: RunContext) -> None:
    taken.append(orders)


async def take_customer(customer: Customer) -> None:
    taken.append(customer)


async def take_time(time: datetime) -> None:
    taken.append(time)


async def take_anything(value) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    taken.append(value)


HELLO = UserMessage("hello")
ADA = Customer(fullName="Ada", since=date(2026, 1, 2))
STORES = pytest.mark.parametrize("new_store", [MemoryStore, JsonStore])


def platform_of(store: DocumentStore, *runnables: Runnable, model: ScriptedModel | None = None) -> Platform:
    return Platform(models=model or ScriptedModel(), store=store).register(*runnables)


async def enqueue(store: DocumentStore, taker: Runnable, value: object, model: ScriptedModel | None = None) -> None:
    """Let a worker run something with an input that another program has enqueued."""
    await platform_of(store, taker, model=model).enqueue(taker, value)
    assert await Worker(platform_of(store, taker, model=model)).run_once()


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize(
    ("function", "value"),
    [
        (take_text, "hello"),
        (take_message, HELLO),
        (take_messages, (HELLO, AssistantMessage((Text("hello"),)))),
        (take_anything, [HELLO]),
        (take_order, Order(3)),
        (take_orders, [Order(3), Order(4)]),
        (take_customer, ADA),
        (take_time, datetime(2026, 1, 2, 3)),
        (take_anything, {"number": 3, "parts": [1, None, "x"]}),
        (take_anything, (1, "x")),
    ],
)
async def test_a_function_is_given_what_was_enqueued(
    function: object, value: object, is_stored: bool, tmp_path: Path
) -> None:
    store: DocumentStore = SqliteStore(tmp_path / "runs.db") if is_stored else MemoryStore()
    taker: Runnable = runnable(function)  # type: ignore[arg-type]  # functions of different types

    await enqueue(store, taker, value)

    found = taken.pop()
    assert (found, type(found)) == (value, type(value))
    await store.aclose()


def take_and_count(order: Order) -> int:
    taken.append(order)
    return order.number


def is_enough(count: int, order: Order) -> bool:
    taken.append(order)
    return True


def add(counts: list[int], order: Order) -> int:
    taken.append(order)
    return sum(counts)


TAKERS: list[Callable[[], Runnable]] = [
    lambda: simple_agent(int, take_and_count, name="flow"),
    lambda: scatter_gather(int, [take_and_count, lambda: 1], add, name="flow"),
    lambda: scatter_gather(int, [lambda: 1], add, name="flow"),
    lambda: repeat_until(int, lambda: 1, is_enough, name="flow"),
    lambda: simple_agent(int, take_and_count, name="flow").with_output_type(int),
    lambda: ParallelAgents("flow", [runnable(take_order), Agent("Reader")]),
    lambda: ParallelAgents(
        "flow", [runnable(take_customer), runnable(take_anything), runnable(take_order)]
    ).as_first_of(),
]


@pytest.mark.parametrize("create", TAKERS)
async def test_what_gives_its_input_to_others_declares_their_types(create: Callable[[], Runnable]) -> None:
    await enqueue(JsonStore(), create(), Order(3), ScriptedModel("Well."))

    assert taken
    assert {type(value) for value in taken} == {Order}
    assert all(value == Order(3) for value in taken)
    taken.clear()


@STORES
async def test_an_agent_reads_the_same_text(new_store: Callable[[], DocumentStore]) -> None:
    live, later = ScriptedModel("Hello."), ScriptedModel("Hello.")
    await Agent("Reader").run(ADA, context=RunContext.over(live))

    await enqueue(new_store(), RouterAgent("Desk", routes={"all": Agent("Reader")}), ADA, ScriptedModel("1", "Hello."))
    await enqueue(new_store(), Agent("Reader"), ADA, later)

    assert live.calls[0].messages == later.calls[0].messages


class Custom(BaseRunnable[str]):
    """Takes whatever it is given."""

    name = "Custom"
    description = "takes it"

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[str]:
        taken.append(input)
        return RunResult("taken")


class Declared(Custom):
    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes((Order, Customer))


async def test_a_runnable_may_declare_its_types() -> None:
    await enqueue(JsonStore(), Declared(), ADA)
    assert taken.pop() == ADA


@STORES
@pytest.mark.parametrize(
    ("taker", "value", "problem"),
    [
        (Custom(), Order(3), "The input of Custom: `Order` .* would be read back as dict. Declare it as `Order`, or "),
        (Custom(), "half \ud83d", "The input of Custom: .* half of a surrogate pair"),
        (runnable(take_anything), ADA, "The input of take_anything: `Customer` .* Declare it as `Customer`, or"),
        (
            runnable(take_customer),
            Order(3),
            "The input of take_customer: `Order`",
        ),
        (
            ParallelAgents("All", [Agent("Reader"), Custom()]),
            datetime(2026, 1, 2),
            "The input of All: `datetime` .* read back as str",
        ),
    ],
)
async def test_what_could_not_be_read_again_is_refused_at_the_start(
    taker: Runnable, value: object, problem: str, new_store: Callable[[], DocumentStore]
) -> None:
    store = new_store()
    platform = platform_of(store, taker)

    with pytest.raises(StoredStateError, match=problem):
        await platform.enqueue(taker, value)
    with pytest.raises(StoredStateError, match=problem):
        await taker.run(value, context=platform.context())

    assert not taken
    assert not await RunStore(store).find()


async def test_a_secret_is_refused() -> None:
    async def take_login(login: Login) -> None: ...

    with pytest.raises(StoredStateError, match=r"The input of take_login: `Login.password` .*keep it in the environm"):
        await runnable(take_login).run(Login(password=SecretStr("x")), context=platform_of(JsonStore()).context())


async def test_without_a_durable_store_anything_is_an_input() -> None:
    value = object()
    await Custom().run(value, context=RunContext.over(ScriptedModel()))
    assert taken.pop() is value


async def test_a_run_that_waits_continues_elsewhere_with_its_input() -> None:
    async def sell(customer: Customer) -> str:
        taken.append(customer)
        return await ask_human(str, "What?")

    store = JsonStore()
    flow = simple_agent(str, sell, name="Shop")
    waiting = await flow.run(ADA, context=platform_of(store, flow).context())
    done = await platform_of(store, flow).respond(waiting.run_id, waiting.pending[0].id, "a frog")

    assert (done.status, taken) == (RunStatus.COMPLETED, [ADA, ADA])
    taken.clear()


async def test_an_input_whose_type_is_no_longer_declared_is_refused() -> None:
    store = JsonStore()
    run_id = await platform_of(store, Declared()).enqueue("Custom", ADA)
    with pytest.raises(StoredStateError, match=r"input of the run cannot be read: .* no longer declares a type"):
        await platform_of(store, Custom()).resume(run_id)


@examples(150, HealthCheck.too_slow, HealthCheck.data_too_large)
@given(KINDS, st.data())
def test_any_input_is_the_same_elsewhere_or_is_refused(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)
    found: list[Any] = []

    async def take(value: object) -> None:
        found.append(value)

    take.__annotations__ = {"value": kind.hint, "return": None}
    taker: Runnable = runnable(take)

    try:
        asyncio.run(taker.run(value, context=RunContext.over(ScriptedModel())))
    except InvalidOutput:  # a value that the function does not take
        reject()
    refusal: StoredStateError | None = None
    try:
        asyncio.run(enqueue(JsonStore(), taker, value))
    except StoredStateError as error:
        refusal = error
    if refusal is not None:
        assert not kind.is_plain, refusal
        return
    live, stored = found
    assert draw_portrait(stored) == draw_portrait(live)


async def test_a_function_that_takes_anything_takes_json() -> None:
    async def take(value: Any) -> None:  # noqa: ANN401 - that is what is tested
        taken.append(value)

    await runnable(take).run({"number": 3}, context=RunContext.over(ScriptedModel()))
    assert taken.pop() == {"number": 3}
