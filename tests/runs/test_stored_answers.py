"""Answers of people and callers: whoever continues a run gets an equal object, or the answer is refused when given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from tactician import Agent, Platform, RunResult, RunStatus, UserInput, achieves_goal, action, planned_agent, tool
from tactician.agents import BaseRunnable
from tactician.agents.flows import simple_agent
from tactician.errors import ConfigurationError, ResponseError, StoredStateError
from tactician.loop.output import InvalidOutput
from tactician.process import AgentProcess, ask_human
from tactician.process.people.forms import build_form, parse_answer
from tactician.runs.life.execution import keep_responses
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.runs.kinds import KINDS, Kind, draw_portrait
from tests.support.effort import examples
from tests.support.stored import JsonStore, load_record

STORES = pytest.mark.parametrize("new_store", [MemoryStore, JsonStore])


class Customer(BaseModel):
    name: str = Field(alias="fullName")
    since: date


class Login(BaseModel):
    password: SecretStr


@dataclass
class Beast:
    name: str


@dataclass
class Hound:
    name: str


ADA = Customer(fullName="Ada", since=date(2026, 1, 2))
IDS = [UUID(int=1), UUID(int=2)]


class Asker:
    """Asks for an answer of some type, and then whether to go on, so that the first answer is asked for twice."""

    def __init__(self, wanted: Any) -> None:  # noqa: ANN401 - any type
        self.wanted = wanted
        self.answers: list[object] = []

    async def ask(self, topic: str) -> str:
        self.answers.append(await ask_human(self.wanted, "Who?"))
        return await ask_human(str, "Go on?")

    def flow(self) -> BaseRunnable[str]:
        return simple_agent(str, self.ask, name="Asker")

    def process(self) -> object:
        asker = self

        @planned_agent(description="asks", name="Asker")
        class Planned:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> str:
                return await asker.ask(topic.content)

        return Planned()


KINDS_OF_RUNS = pytest.mark.parametrize("create", [Asker.flow, Asker.process], ids=["flow", "process"])
Create = Callable[[Asker], object]


def platform_of(store: DocumentStore, *agents: object, model: ScriptedModel | None = None) -> Platform:
    return Platform(models=model or ScriptedModel(), store=store).register(*agents)


async def answer(
    store: DocumentStore, agent: object, run_id: str, response: Response, *, is_kept: bool
) -> AgentProcess | RunResult[Any]:
    """Answer the only request of a run, in another program; in a third one, where the answer is kept first."""
    (request,) = (await load_record(store, run_id)).header.pending
    if not is_kept:
        return await platform_of(store, agent).respond(run_id, request.id, response)
    claimed = await RunStore(store).claim("somebody", 60, run_id=run_id)
    assert claimed is not None
    await keep_responses(*claimed, platform_of(store).context(), {request.id: response})
    return await platform_of(store, agent).resume(run_id)


async def ask_twice(
    asker: Asker, agent: object, store: DocumentStore, response: Response, *, is_kept: bool = False
) -> None:
    """Let a run ask, and continue it elsewhere with an answer, and after another question once more."""
    run_id = await platform_of(store, agent).enqueue("Asker", "x")
    await platform_of(store, agent).resume(run_id)
    outcome = await answer(store, agent, run_id, response, is_kept=is_kept)
    for request in outcome.pending:
        if request.problem is not None:
            raise ResponseError(request.problem)
    done = await answer(store, agent, run_id, "yes", is_kept=is_kept)
    assert done.status is RunStatus.COMPLETED


KEPT = pytest.mark.parametrize("is_kept", [False, True], ids=["given", "kept"])


@STORES
@KEPT
@KINDS_OF_RUNS
@pytest.mark.parametrize(
    ("wanted", "response"),
    [
        (Customer, ADA),
        (Customer, {"fullName": "Ada", "since": "2026-01-02"}),
        (list[Customer], [ADA, ADA]),
        (list[UUID], IDS),
        (dict[UUID, list[date]], {IDS[0]: [ADA.since]}),
        (tuple[int, Customer], (1, ADA)),
        (Beast | Hound, Beast("Tom")),
        (date, ADA.since),
        (str, "text"),
    ],
    ids=repr,
)
async def test_an_answer_is_the_same_whoever_continues(
    wanted: object, response: object, create: Create, is_kept: bool, new_store: Callable[[], DocumentStore]
) -> None:
    asker = Asker(wanted)
    expected: object = parse_answer(wanted, response)  # type: ignore[arg-type]  # any type

    await ask_twice(asker, create(asker), new_store(), response, is_kept=is_kept)

    assert [(type(one), one) for one in asker.answers] == [(type(expected), expected)] * 2


@STORES
@KEPT
@KINDS_OF_RUNS
@pytest.mark.parametrize(
    ("wanted", "response", "problem"),
    [
        (Login, Login(password=SecretStr("x")), r"`Login.password` cannot be stored: .* keep it in the environment"),
        (Login, {"password": "x"}, r"`Login.password` cannot be stored: .* keep it in the environment"),
        (str, "half \ud83d", "half of a surrogate pair"),
    ],
    ids=repr,
)
async def test_what_could_not_be_read_again_is_refused_when_it_is_given(
    wanted: object,
    response: object,
    problem: str,
    create: Create,
    is_kept: bool,
    new_store: Callable[[], DocumentStore],
) -> None:
    asker, store = Asker(wanted), new_store()
    agent = create(asker)
    with pytest.raises((ResponseError, StoredStateError), match=problem):
        await ask_twice(asker, agent, store, response, is_kept=is_kept)

    (record,) = await RunStore(store).find()
    assert (record.status, len(record.header.pending)) == (RunStatus.WAITING, 1), "it can be answered otherwise"
    assert not asker.answers


async def test_an_object_that_would_become_one_of_another_type_is_refused() -> None:
    asker = Asker(Beast | Hound)
    with pytest.raises(ResponseError, match="it is of the type Hound, and would be read back as Beast"):
        await ask_twice(asker, asker.flow(), JsonStore(), Hound("Rex"))
    with pytest.raises(ResponseError, match="it is a Hound, and would be read as a Beast: pass it as JSON"):
        await ask_twice(asker, asker.flow(), JsonStore(), Hound("Rex"), is_kept=True)


@STORES
async def test_an_object_for_a_tool_is_the_same_text(new_store: Callable[[], DocumentStore]) -> None:
    @tool(client_side=True)
    async def find(name: str) -> object:
        """Find somebody."""

    texts = []
    for response in (ADA, [ADA], {"who": ADA}, IDS[0], Login(password=SecretStr("x"))):
        for store in (MemoryStore(), new_store()):
            model = ScriptedModel(ToolCall("find", name="Ada"), "Found.")
            agent = Agent("Clerk", tools=[find])
            waiting = await agent.run("find Ada", context=platform_of(store, agent, model=model).context())
            elsewhere = platform_of(store, agent, model=model)
            await elsewhere.respond(waiting.run_id, waiting.pending[0].id, response)
            texts.append(model.calls[1].messages[-1])
        assert texts[-1] == texts[-2]


async def test_a_default_that_would_be_another_answer_as_json_is_refused() -> None:
    async def ask() -> str:
        secret = Login(password=SecretStr("x"))
        return str(await ask_human(Login, "Who?", deadline=timedelta(hours=1), default=secret))

    with pytest.raises(ConfigurationError, match=r"'Who\?': the default .* `Login.password` would not be"):
        await simple_agent(str, ask, name="Asker").run("x", context=platform_of(JsonStore()).context())


@examples(100, *HealthCheck)
@given(KINDS, st.data(), st.booleans())
def test_any_answer_is_the_same_elsewhere_or_is_refused(kind: Kind, data: st.DataObject, is_kept: bool) -> None:
    value = data.draw(kind.values)
    try:
        build_form(kind.hint)
        expected: object = parse_answer(kind.hint, value)
    except (InvalidOutput, Exception):  # no form, or no answer to it
        assume(False)
    asker = Asker(kind.hint)
    try:
        asyncio.run(ask_twice(asker, asker.flow(), JsonStore(), value, is_kept=is_kept))
    except (ResponseError, StoredStateError):
        return
    assert [draw_portrait(one) for one in asker.answers] == [draw_portrait(expected)] * 2
