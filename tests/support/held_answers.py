"""Runnables of which something refuses, changes or repeats answers, each with what of it readers may see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from tactician import (
    Agent,
    AgentNetwork,
    Ensemble,
    Graph,
    Loop,
    MapReduce,
    ParallelAgents,
    Phase,
    Review,
    ReviewDecision,
    RouterAgent,
    SupervisorAgent,
    Task,
    Workflow,
    guardrails,
    handoff,
)
from tactician.agents import BaseRunnable
from tactician.ensemble import END, Edge, HierarchicalConstraints, PhaseReview
from tactician.errors import ModelError
from tactician.guardrails import GuardrailResult
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.model import Delta
from tactician.loop import Autonomous
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step


@dataclass(frozen=True)
class Case:
    """Way in which an answer may turn out to be another.

    Attributes:
        build: creates the Runnable.
        answer: its answer; `None` when it fails or waits.
        is_refused: true when a guardrail or a person refuses or changes an answer; else it is repeated.
    """

    build: Callable[[], BaseRunnable[object]]
    answer: str | None = None
    is_refused: bool = True


def agent(*steps: Step, name: str = "A", **settings: Any) -> Agent:  # noqa: ANN401 - settings of agents
    return Agent(name, model=ScriptedModel(*steps), **settings)


def look_up() -> str:
    """Look something up."""
    return "found"


def refuse_secrets(text: str) -> GuardrailResult:
    return guardrails.failed("secrets") if "SECRET" in text else guardrails.passed()


def retry_secrets(text: str) -> GuardrailResult:
    return guardrails.retry("secrets") if "SECRET" in text else guardrails.passed()


@guardrails.input_guardrail(concurrent=True)
async def refuse_meanwhile(text: str) -> GuardrailResult:
    """Refuse an input once the model has answered."""
    for _ in range(20):
        await asyncio.sleep(0)
    return guardrails.failed("no")


class Breaking(ScriptedModel):
    """Model that breaks off in the middle of its answer."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        async for item in super().stream(request):
            if isinstance(item, ModelResponse):
                raise ModelError("it broke off", model=self.name)
            yield item


def breaking(name: str) -> Agent:
    return Agent(name, model=Breaking("SECRET beginning"))


def ensemble(*tasks: object, **settings: object) -> Ensemble:
    create: Callable[..., Ensemble] = Ensemble
    return create("E", list(tasks), **settings)


def edit(request: object) -> ReviewDecision:
    return ReviewDecision.edit("fine")


class _Editor:
    """Reviewer that asks for another attempt, and then accepts."""

    def __init__(self, *decisions: ReviewDecision) -> None:
        self._decisions = list(decisions)

    def __call__(self, request: object) -> ReviewDecision:
        return self._decisions.pop(0)


def route(*steps: Step, **settings: Any) -> RouterAgent:  # noqa: ANN401 - settings of agents
    """Return a router that sends everything to the same agent."""
    classifier = ScriptedModel(*[{"value": 1}] * len(steps))
    return RouterAgent("Desk", model=classifier, routes={"all": agent(*steps, **settings)})


class City(BaseModel):
    name: str


def graph_with_ways_back() -> Graph:
    write = Task("Write", agent=agent("SECRET", "fine"))
    edges = [Edge("write", "write", lambda outputs: outputs.last.raw == "SECRET"), Edge("write", END)]
    return Graph({"write": write}, start="write", edges=edges)


def reviewed_phase() -> Ensemble:
    decisions = iter(["RETRY: again", "APPROVE"])
    phase = Phase("p", [Task("t", agent=agent("SECRET", "fine"))], review=PhaseReview(lambda task: next(decisions)))
    return Ensemble("E", phases=[phase])


def hierarchy() -> Ensemble:
    chief = Agent(role="Chief", goal="g", model=ScriptedModel("SECRET", "SECRET"))
    worker = Agent(role="Worker", goal="g", model=ScriptedModel("done"))
    return Ensemble(
        "E",
        [Task("t")],
        agents=[worker],
        manager=chief,
        workflow=Workflow.HIERARCHICAL,
        constraints=HierarchicalConstraints(required_workers={"Worker"}),
        model=ScriptedModel("-"),
    )


def reviewed(**settings: object) -> Review:
    create: Callable[..., Review] = Review.after
    return create("?", **settings)


CASES: dict[str, Case] = {
    "guardrail of an agent refuses": Case(lambda: agent("the SECRET", output_guardrails=[refuse_secrets])),
    "guardrail of an agent retries": Case(
        lambda: agent("the SECRET", "fine", output_guardrails=[retry_secrets]), "fine"
    ),
    "guardrail accepts": Case(lambda: agent("all fine", output_guardrails=[retry_secrets]), "all fine"),
    "input guardrail beside the model": Case(lambda: agent("the SECRET", input_guardrails=[refuse_meanwhile])),
    "agent starts again": Case(
        lambda: agent(
            ["a SECRET thought", ToolCall("look_up")],
            "fine",
            tools=[look_up],
            autonomy=Autonomous(max_iterations=1, end_turn_on_plain_reply=True),
        ),
        "fine",
    ),
    "target of a handoff retries": Case(
        lambda: agent(
            ToolCall("transfer_to_b"),
            handoffs=[handoff(agent("SECRET", "fine", name="B", output_guardrails=[retry_secrets]))],
        ),
        "fine",
    ),
    "route retries": Case(lambda: route("SECRET", "fine", output_guardrails=[retry_secrets]), "fine"),
    "lead of a supervisor retries": Case(
        lambda: SupervisorAgent("Lead", model=ScriptedModel("fine"), workers={"w": agent("SECRET", name="W")}),
        "fine",
        is_refused=False,
    ),
    "first of a group": Case(
        lambda: ParallelAgents("P", [breaking("A"), agent("fine", name="B")]).as_first_of(), "fine", is_refused=False
    ),
    "last peer of a network fails": Case(
        lambda: AgentNetwork("N", [agent("fine"), breaking("B")], max_rounds=1), "fine", is_refused=False
    ),
    "guardrail of a task refuses": Case(
        lambda: ensemble(Task("t", agent=agent("the SECRET"), output_guardrails=[refuse_secrets]))
    ),
    "guardrail of a task retries": Case(
        lambda: ensemble(Task("t", agent=agent("SECRET", "fine"), output_guardrails=[retry_secrets])), "fine"
    ),
    "review edits": Case(lambda: ensemble(Task("t", agent=agent("SECRET"), review=reviewed()), reviewer=edit), "fine"),
    "review retries": Case(
        lambda: ensemble(
            Task("t", agent=agent("SECRET", "fine"), review=reviewed()),
            reviewer=_Editor(ReviewDecision.retry("again"), ReviewDecision.approve()),
        ),
        "fine",
    ),
    "review waits": Case(
        lambda: ensemble(Task("t", agent=agent("SECRET"), review=reviewed(required_role="editor", timeout=None)))
    ),
    "review of an inner ensemble edits": Case(
        lambda: ensemble(ensemble(Task("t", agent=agent("SECRET"), review=reviewed()), reviewer=edit)), "fine"
    ),
    "review of the task around an inner ensemble": Case(
        lambda: ensemble(Task("t", agent=ensemble(Task("u", agent=agent("SECRET"))), review=reviewed()), reviewer=edit),
        "fine",
    ),
    "task before the last is reviewed": Case(
        lambda: ensemble(
            Task("t", agent=agent("SECRET"), review=reviewed()), Task("u", agent=agent("fine")), reviewer=edit
        ),
        "fine",
    ),
    "typed task of a router": Case(
        lambda: ensemble(Task("t", agent=route("SECRET", '{"name": "x"}'), output_type=City)),
        '{"name":"x"}',
        is_refused=False,
    ),
    "loop": Case(lambda: Loop([Task("t", agent=agent("SECRET", "fine"))], max_iterations=2), "fine", is_refused=False),
    "loop until": Case(
        lambda: Loop([Task("t", agent=agent("SECRET", "fine"))], until=lambda o: o.last.raw == "fine"),
        "fine",
        is_refused=False,
    ),
    "loop that fails at its limit": Case(
        lambda: Loop([Task("t", agent=agent("SECRET"))], until=lambda o: False, max_iterations=1, on_limit="raise"),
        is_refused=False,
    ),
    "graph": Case(graph_with_ways_back, "fine", is_refused=False),
    "map-reduce": Case(
        lambda: MapReduce(
            ["a", "b"],
            map=lambda item: Task(f"map {item}", agent=agent("SECRET")),
            reduce=lambda outputs: Task("reduce", agent=agent("fine")),
        ),
        "fine",
        is_refused=False,
    ),
    "phase with a review": Case(reviewed_phase, "fine"),
    "hierarchy without a required worker": Case(hierarchy),
}
