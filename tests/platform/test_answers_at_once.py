"""Of several answers to a request at the same moment, the first counts, and the others are told of the conflict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import pytest

from tactician import (
    Agent,
    Ensemble,
    Platform,
    Review,
    ReviewDecision,
    Task,
    UserInput,
    achieves_goal,
    action,
    approve,
    planned_agent,
    tool,
)
from tactician.errors import AlreadyAnsweredError
from tactician.platform import Worker
from tactician.process import AgentProcess, ask_human
from tactician.runs import RunResult
from tactician.stores import DocumentStore, MemoryStore, open_store
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import find, served, start
from tests.stores import postgres

ANSWERS: Final = 8
Open = Callable[[], DocumentStore]


@planned_agent(name="Asker", description="Asks for a word")
class Asker:
    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause

    @achieves_goal("answered")
    @action
    async def ask(self, topic: UserInput) -> str:
        word = await ask_human(str, "Which word?")
        await asyncio.sleep(self.pause)  # others answer meanwhile
        return word


@tool(needs_approval=True)
async def write(text: str) -> str:
    """Write a text."""
    await asyncio.sleep(0)
    return f"wrote {text}"


def create_clerk() -> Agent:
    """Return an agent whose call of a tool needs an approval, which may change its arguments."""
    return Agent("Clerk", model=ScriptedModel(ToolCall("write", text="?"), "Done."), tools=[write])


def create_newsroom() -> Ensemble:
    task = Task("Write", agent=Agent("Writer", model=ScriptedModel("draft")), review=Review.after("Good?"))
    return Ensemble("Newsroom", [task])


KINDS: Final[dict[str, Callable[[], object]]] = {
    "Asker": Asker,
    "Clerk": create_clerk,
    "Newsroom": create_newsroom,
}


def create_answer(kind: str, number: int) -> object:
    match kind:
        case "Asker":
            return f"word {number}"
        case "Clerk":
            return approve({"text": f"word {number}"})
    return ReviewDecision.edit(f"word {number}")


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def platforms(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Callable[[str], list[Platform]]]:
    """Return what opens two platforms over the same store, as two programs do."""
    async with AsyncExitStack() as stack:
        shared = MemoryStore()
        url = "" if request.param == "memory" else postgres.create_store_url(request, tmp_path)

        def open_platforms(kind: str) -> list[Platform]:
            stores = [open_store(url) if url else shared for _ in range(2)]
            for store in stores:
                stack.push_async_callback(store.aclose)
            return [Platform(ScriptedModel(), store=store).register(KINDS[kind]()) for store in stores]

        yield open_platforms


@pytest.mark.parametrize("kind", KINDS)
async def test_of_many_answers_at_once_the_first_counts(kind: str, platforms: Callable[[str], list[Platform]]) -> None:
    first, second = platforms(kind)
    run_id = await first.enqueue(kind, "go")
    await Worker(first).run_once()
    (request,) = (await first.runs())[0].pending
    attempts = [
        (first, second)[number % 2].respond(run_id, request.id, create_answer(kind, number))
        for number in range(ANSWERS)
    ]

    outcomes = await asyncio.gather(*attempts, return_exceptions=True)

    accepted = [number for number, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
    assert len(accepted) == 1, outcomes
    assert all(isinstance(outcome, AlreadyAnsweredError | AgentProcess | RunResult) for outcome in outcomes), outcomes
    if kind != "Clerk":
        assert await second.output(run_id) == f"word {accepted[0]}"
    with pytest.raises(AlreadyAnsweredError, match=r"has an answer already|has completed"):
        await second.respond(run_id, request.id, create_answer(kind, 9))


async def test_without_a_store_the_first_answer_counts() -> None:
    platform = Platform(ScriptedModel()).register(Asker())
    process = await platform.start("Asker", "go")
    (request,) = process.pending

    outcomes = await asyncio.gather(
        *(platform.respond(process.id, request.id, f"word {number}") for number in range(ANSWERS)),
        return_exceptions=True,
    )

    assert process.result == "word 0"
    assert [type(outcome) for outcome in outcomes] == [AgentProcess, *[AlreadyAnsweredError] * (ANSWERS - 1)]


@pytest.mark.parametrize(("kind", "answer"), [("asker", "word {}"), ("clerk", True)])
async def test_over_http_one_answer_is_accepted_and_the_others_conflict(kind: str, answer: object) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Asker(pause=0.2), create_clerk())
    async with served(platform) as client:
        run_id = await start(client, kind, {"content": "go"} if kind == "asker" else "go")
        shown = await find(client, run_id, "waiting")
        request_id = shown["pending"][0]["id"]
        answers = [answer.format(number) if isinstance(answer, str) else answer for number in range(ANSWERS)]
        posts = (
            client.post(f"/api/runs/{run_id}/answers", json={"request": request_id, "response": given})
            for given in answers
        )

        done = await asyncio.gather(*posts)

        statuses = [response.status_code for response in done]
        assert sorted(statuses) == [200, *[409] * (ANSWERS - 1)]
        result = (await find(client, run_id, "completed"))["result"]
        assert kind == "clerk" or result == answers[statuses.index(200)]
