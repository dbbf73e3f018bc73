"""Traces that are made from the steps of stored runs, when nobody has listened to them."""

from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ai,
    Ensemble,
    Platform,
    Task,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.errors import RunNotFoundError
from tactician.platform import RunReader
from tactician.runs import approve
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.trace import Trace
from tactician.trace.node import TraceNode


class Facts(BaseModel):
    text: str


class Opinion(BaseModel):
    text: str


class Story(BaseModel):
    text: str


@tool
def search(query: str) -> str:
    """Search."""
    return f"{query} have no ears"


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@planned_agent(description="Writes a story")
class Author:
    @action
    async def research(self, topic: UserInput, ai: Ai) -> Facts:
        helper = Agent("Helper", tools=[search], instructions="Search.")
        return Facts(text=(await helper.run(topic.content)).output)

    @action
    async def ask(self, facts: Facts) -> Opinion:
        return Opinion(text=await ask_human(str, "What do you think?"))

    @achieves_goal("a story")
    @action
    async def write(self, facts: Facts, opinion: Opinion, ai: Ai) -> Story:
        if opinion.text == "bad":
            raise ValueError("nobody likes it")
        return await ai.create(Story, f"Write about {facts.text}; {opinion.text}")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DocumentStore]:
    opened: DocumentStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield opened
    await opened.aclose()


def script() -> ScriptedModel:
    return ScriptedModel(ToolCall("search", query="frogs"), "They have no ears.", Story(text="Once"))


def outline(node: TraceNode) -> list[object]:
    """Return the kind and name of a node, followed by those of the nodes inside it, without the work of the planner."""
    return [f"{node.kind} {node.name}", *(outline(child) for child in node.children if child.kind != "plan")]


async def test_the_trace_of_a_process_has_its_actions_with_the_calls_inside_them(store: DocumentStore) -> None:
    platform = Platform(models=script(), store=store).register(Author())
    process = await platform.start(Author(), UserInput("frogs"))
    waiting = (await platform.trace(process.id)).roots[0]
    assert (waiting.status, [note.kind for note in waiting.notes][-1]) == ("waiting", "waits for")

    (request,) = process.pending
    await platform.respond(process.id, request.id, "fine")
    (root,) = (await platform.trace(process.id)).roots
    helper = ["run Helper", ["model scripted"], ["tool search"], ["model scripted"]]
    assert outline(root) == [
        "run Author",
        ["action research", helper],
        ["action ask"],
        ["action write", ["model scripted"]],
    ]
    assert (root.status, root.facts["goal"], len(root.pauses)) == ("completed", "write", 1)
    first, search_call, second = root.children[0].children[0].children
    assert first.content["prompt"] == [{"role": "system", "text": "Search."}, {"role": "user", "text": "frogs"}]
    assert first.content["answer"] == [
        {"role": "assistant", "text": "", "calls": [{"tool": "search", "arguments": '{"query":"frogs"}'}]}
    ]
    assert search_call.content == {"arguments": '{"query":"frogs"}', "result": "frogs have no ears"}
    assert second.content["prompt"] == [{"role": "tool", "text": "frogs have no ears", "tool": "search"}]
    assert root.total_use.requests == 3
    assert root.total_use.total_tokens == process.tally.total.total_tokens
    plans = [note.text for note in root.notes if note.kind == "PlanMade"]
    assert plans
    assert plans[0] in unescape(Trace([root]).to_html())
    board = root.content["blackboard"]
    assert isinstance(board, list)
    assert [str(item["type"]).rpartition(".")[2] for item in board if isinstance(item, dict)] == [
        "UserInput",
        "Facts",
        "Opinion",
        "Story",
    ]
    for node in root.walk():
        assert node.ended is not None
        assert root.started <= node.started <= node.ended <= (root.ended or 0), node.name


async def test_a_failure_is_where_it_happened(store: DocumentStore) -> None:
    platform = Platform(models=script(), store=store).register(Author())
    process = await platform.start(Author(), UserInput("frogs"))
    await platform.respond(process.id, process.pending[0].id, "bad")
    (root,) = (await platform.trace(process.id)).roots
    failed = [node for node in root.walk() if node.kind == "action" and node.error is not None]
    assert [(node.name, node.status) for node in failed] == [("write", "failed")]
    assert "nobody likes it" in str(failed[0].error)
    assert root.status == "failed"
    assert "nobody likes it" in str(root.error)


async def test_the_trace_of_an_agent_has_its_approved_tools(store: DocumentStore) -> None:
    agent = Agent("Payer", tools=[pay], model=ScriptedModel(ToolCall("pay", amount=5), "Done."))
    platform = Platform(models=ScriptedModel(), store=store).register(agent)
    result = await agent.run("the bill", context=platform.context())
    await platform.respond(result.run_id, result.pending[0].id, approve())
    (root,) = (await platform.trace(result.run_id)).roots
    assert outline(root) == ["run Payer", ["model scripted"], ["tool pay"], ["model scripted"]]
    assert root.content["output"] == "Done."


async def test_the_trace_of_an_ensemble_has_its_tasks(store: DocumentStore) -> None:
    research = Task("Research", id="research", agent=Agent(role="Researcher", tools=[search]))
    report = Task("Write the report", id="report", context=[research])
    model = ScriptedModel(ToolCall("search", query="frogs"), "No ears.", "Frogs hear with their lungs.")
    ensemble = Ensemble("Newsroom", [research, report], model=model)
    result = await ensemble.run({}, context=Platform(models=model, store=store).context())
    trace = await RunReader(store).trace(result.run_id)
    assert [node.name for node in trace.find("task")] == ["research", "report"]
    assert [node.name for node in trace.find("tool")] == ["search"]
    assert len(trace.find("model")) == 3


async def test_an_unknown_run_is_an_error(store: DocumentStore) -> None:
    with pytest.raises(RunNotFoundError):
        await RunReader(store).trace("none")


async def test_a_process_of_this_program_has_its_history() -> None:
    platform = Platform(models=script()).register(Author())
    process = await platform.start(Author(), UserInput("frogs"))
    (root,) = (await platform.trace(process.id)).roots
    assert [node.name for node in root.children] == ["research"]
    assert Trace.from_json(Trace([root]).to_json()).roots == (root,)
