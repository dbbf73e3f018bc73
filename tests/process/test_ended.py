"""What has ended waits for nothing and plans nothing, wherever it is kept; what waits says how to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    Budget,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import ResponseError, RunConflictError
from tactician.process import AgentProcess, ProcessWaitingError
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import respond

Make = Callable[[], Platform]


@dataclass
class Draft:
    text: str


@dataclass
class Title:
    text: str


@dataclass
class Book:
    text: str


@planned_agent(description="writes, and asks for a title meanwhile")
class Writer:
    @action
    async def ask(self, topic: UserInput) -> Title:
        return Title(await ask_human(str, "A title?"))

    @action
    async def draft(self, topic: UserInput) -> Draft | None:
        match topic.content:
            case "fails":
                raise ValueError("no ink")
            case "gives nothing":
                return None
        return Draft(topic.content)

    @achieves_goal("written")
    @action
    def publish(self, title: Title, draft: Draft) -> Book:
        return Book(title.text)


BOTH = ProcessOptions(max_parallel=2)


@pytest.fixture(params=["in memory", "in a store"])
def platform(request: pytest.FixtureRequest) -> Make:
    """Platforms that know the same processes: one, or several with one store."""
    store = MemoryStore() if request.param == "in a store" else None
    one = Platform(ScriptedModel()).register(Writer())
    return lambda: one if store is None else Platform(ScriptedModel(), store=store).register(Writer())


async def killed(platform: Make) -> AgentProcess:
    process = await platform().start("Writer", "x")
    await platform().kill(process.id)
    return await platform().process(process.id)


async def completed(platform: Make) -> AgentProcess:
    process = await platform().start("Writer", "x")
    return await respond(platform(), process, "Frogs")


async def failed(platform: Make) -> AgentProcess:
    """One of its actions waits when the other one fails."""
    return await platform().start("Writer", "fails", options=BOTH)


async def terminated(platform: Make) -> AgentProcess:
    options = ProcessOptions(budget=Budget(actions=1))
    process = await platform().start("Writer", "x", options=options)
    return await respond(platform(), process, "Frogs")


@pytest.mark.parametrize("ended", [killed, completed, failed, terminated])
async def test_what_has_ended_waits_for_nothing(platform: Make, ended: Callable[[Make], object]) -> None:
    process = await ended(platform)  # type: ignore[misc]  # each gives an awaitable process

    assert process.status == ended.__name__
    assert process.pending == ()
    assert process.plan is None
    chart = process.to_mermaid()
    assert "planned" not in chart
    assert "next" not in chart
    expected = f"^The process {process.id} {process.status.sentence}: it waits for nothing.$"
    with pytest.raises(ResponseError, match=expected):
        await platform().respond(process.id, "Writer/ask/asked", "Frogs")
    with pytest.raises(ResponseError, match=expected):
        await process.respond("Writer/ask/asked", "Frogs")
    assert (await platform().process(process.id)).pending == ()


async def test_what_is_stuck_has_no_plan_any_more() -> None:
    process = await Platform(ScriptedModel()).start(Writer(), "gives nothing")
    assert process.plan is not None
    await process.respond(process.pending[0].id, "Frogs")

    assert process.status is ProcessStatus.STUCK
    assert process.plan is None
    assert "planned" not in process.to_mermaid()
    assert "next" not in process.to_mermaid()


async def test_one_that_somebody_else_goes_on_with_has_not_ended() -> None:
    store = MemoryStore()
    first, second = (Platform(ScriptedModel(), store=store).register(Writer()) for _ in range(2))
    process = await first.start("Writer", "x")
    assert await RunStore(store).claim("somebody", 60, run_id=process.id) is not None

    with pytest.raises(RunConflictError):
        await second.respond(process.id, process.pending[0].id, "Frogs")


async def test_what_invoke_waits_for_is_said_with_how_to_go_on(platform: Make) -> None:
    with pytest.raises(ProcessWaitingError) as caught:
        await platform().invoke(Book, "x")

    process = caught.value.process
    assert isinstance(process, AgentProcess)
    answer = f"await platform.respond({process.id!r}, 'Writer/ask/asked', ...)"
    assert str(caught.value) == f"Writer waits for 'A title?' (form, 'Writer/ask/asked'). Go on with `{answer}`."
    done = await respond(platform(), process, "Frogs")
    assert done.result == Book("Frogs")
