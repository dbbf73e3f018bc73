"""An ensemble with a model, tools and context tasks, whose runs are traced."""

from __future__ import annotations

from tactician import Agent, Ensemble, RunContext, Task, tool
from tactician.ensemble import EnsembleResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.trace.capture import CaptureMode
from tactician.trace.node import TraceNode

SECRET = "what the tool found " * 200


@tool
async def search(query: str) -> str:
    """Search for facts."""
    return f"{query}: {SECRET}"


def newsroom(capture: CaptureMode | str | None = "standard") -> Ensemble:
    """An agent with a tool, a handler, and an agent that reads both."""
    research = Task("Research {topic}", id="research", agent=Agent(role="Researcher", tools=[search]))
    interview = Task("Interview", id="interview", handler=lambda task: "a quote")
    report = Task("Write the report", id="report", context=[research, interview])
    return Ensemble("Newsroom", [research, interview, report], model=None, capture=capture)


def script() -> ScriptedModel:
    """The answers of the model."""
    return ScriptedModel(ToolCall("search", query="frogs"), "Frogs have no ears.", "Frogs hear with their lungs.")


async def run_newsroom(capture: CaptureMode | str | None = "standard") -> EnsembleResult:
    """The result of a run."""
    return await newsroom(capture).run({"topic": "frogs"}, context=RunContext.over(script()))


def outline(node: TraceNode) -> list[object]:
    """Return the kind and name of a node, followed by those of the nodes inside it."""
    return [f"{node.kind} {node.name}", *(outline(child) for child in node.children)]
