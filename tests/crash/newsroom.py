"""Ensemble that workers continue: twelve tasks in three phases, with a review that asks for a second attempt, a person
who decides on another phase, and an agent with tools among the tasks.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from tactician import Ensemble, Phase, PhaseReview, RunContext, Task
from tactician.ensemble import PhaseDecision, TaskInput
from tactician.llm import ModelRequest, ModelResponse, UserMessage
from tests.crash.kinds import AIDE_TURNS, Graph, Kind, TurnModel, create_agent, graph_of_agent
from tests.crash.ledger import Ledger

NAME: Final = "Newsroom"
_LABEL: Final = re.compile(r"^\w+ for (\S+)$", re.MULTILINE)


class TaskModel(TurnModel):
    """Model that finds the label of the run in the prompt of a task."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer."""
        told = request.messages
        messages = (UserMessage(_find_label(one.text)) if isinstance(one, UserMessage) else one for one in told)
        return await super().generate(replace(request, messages=tuple(messages)))


def create_newsroom(ledger: Ledger) -> Ensemble:
    """Return the ensemble, whose side effects are in a ledger."""

    def task(name: str, *context: Task) -> Task:
        return Task(f"{name} for {{input}}", id=name, context=list(context), handler=_create_handler(ledger, name))

    aide = create_agent(ledger, "Aide", AIDE_TURNS, TaskModel(ledger, AIDE_TURNS))
    g1, g2, g4 = task("g1"), task("g2"), Task("g4 for {input}", id="g4", agent=aide, context=[])
    g3 = task("g3", g1, g2)
    c1, c2 = task("c1", g3), task("c2", g4)
    c3, w1, w2 = task("c3", c1), task("w1", g3), task("w2", g4)
    w3 = task("w3", w1, w2)
    gather = Phase("gather", [g1, g2, g3, g4])
    check = Phase("check", [c1, c2, c3, task("c4", c2, c3)], after=[gather], review=PhaseReview.by_person())
    review = PhaseReview(_create_review(ledger))
    write = Phase("write", [w1, w2, w3, task("w4", w3)], after=[gather], review=review)
    return Ensemble(NAME, phases=[gather, check, write])


def _create_handler(ledger: Ledger, name: str) -> Callable[[TaskInput], Awaitable[str]]:
    async def handle(task: TaskInput) -> str:
        attempt = 1 if task.revision is None else task.revision.attempt
        await ledger.record(task.values["input"], f"{name}.{attempt}", RunContext.current().idempotency_key)
        return f"{name}.{attempt}({' '.join(output.raw for output in task.context_outputs)})"

    return handle


def _create_review(ledger: Ledger) -> Callable[[TaskInput], Awaitable[PhaseDecision]]:
    async def review(task: TaskInput) -> PhaseDecision:
        is_first = any(output.raw.startswith("w4.1") for output in task.context_outputs)
        key = RunContext.current().idempotency_key
        await ledger.record(task.values["input"], "review.1" if is_first else "review.2", key)
        return PhaseDecision.retry("once more") if is_first else PhaseDecision.approve()

    return review


def _find_label(prompt: str) -> str:
    found = _LABEL.search(prompt)
    assert found is not None, prompt
    return found[1]


def _graph() -> Graph:
    agent = graph_of_agent(AIDE_TURNS)
    last = frozenset({list(agent)[-1]})
    gathered = frozenset({"g3.1"}) | last
    graph: dict[str, frozenset[str]] = {
        **agent,
        "g1.1": frozenset(),
        "g2.1": frozenset(),
        "g3.1": frozenset({"g1.1", "g2.1"}),
        "c1.1": gathered,
        "c2.1": gathered,
        "c3.1": frozenset({"c1.1"}),
        "c4.1": frozenset({"c2.1", "c3.1"}),
    }
    before = gathered
    for number in (1, 2):
        graph |= {f"w1.{number}": before, f"w2.{number}": before}
        graph[f"w3.{number}"] = frozenset({f"w1.{number}", f"w2.{number}"})
        graph[f"w4.{number}"] = frozenset({f"w3.{number}"})
        before = frozenset({f"review.{number}"})
        graph[f"review.{number}"] = frozenset({f"w4.{number}"})
    return graph


_WRITTEN: Final = "w4.2(w3.2(w1.2(g3.1(g1.1() g2.1())) w2.2(6)))"
NEWSROOM: Final = Kind(NAME, _WRITTEN, _graph(), {"task": 18, "phase": 3, "phase_review": 3, "answer": 3, "tool": 3})
