"""Runnables on other machines are evaluated: tasks of a mesh, and agents that speak A2A."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator, EvaluatorContext

from tactician import Budget, MemoryStore, Platform, SqliteStore
from tactician.a2a import RemoteAgent, RemoteTaskChanged
from tactician.evals import EvalContext, evaluate
from tactician.events import Event
from tactician.mesh import Mesh, Node, RequestCompleted
from tactician.testing import ScriptedModel
from tests.evals.support import SUMS, DearModel, calculator, sums
from tests.serve.a2a.serving import serve_a2a


@dataclass
class Traced(Evaluator[Any, Any, Any]):
    """Assertion: the trace has one run, and the end of the work on the other machine."""

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
        assert isinstance(ctx, EvalContext)
        ends = [event for event in ctx.events if self.is_end(event)]
        return bool(ctx.run_id) and len(ctx.trace.roots) == 1 and len(ends) == 1

    def is_end(self, event: Event) -> bool:
        is_end_of_task = isinstance(event, RemoteTaskChanged) and event.state == "completed"
        return is_end_of_task or (isinstance(event, RequestCompleted) and event.status == "completed")


SUMS_AND_TRACES = Dataset(name="sums", cases=sums().cases, evaluators=[EqualsExpected(), Traced()])


@pytest.fixture
async def mesh(request: pytest.FixtureRequest) -> AsyncIterator[Mesh]:
    """A mesh with a calculator whose answers cost a dollar."""
    async with Mesh(f"memory://{request.node.name}") as mesh:
        node = Node("school", Platform(ScriptedModel(), store=MemoryStore()), mesh)
        node.offer(calculator(model=DearModel())[0], name="calculator")
        async with node:
            yield mesh


async def test_what_a_task_of_a_mesh_costs_counts(mesh: Mesh, tmp_path: Path) -> None:
    task = mesh.task("calculator", on="school")
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        stopped = await evaluate(
            SUMS_AND_TRACES, task, platform=platform, id="remote", budget=Budget(cost=2.0), max_parallel=1
        )
        assert "the budget of $2.00 is used up" in str(stopped.stopped)
        report = await evaluate(SUMS_AND_TRACES, task, platform=platform, id="remote")
    assert report.is_complete
    assert [entry.cost for entry in report.entries] == [1.0] * 3
    assert [entry.tokens for entry in report.entries] == [1_000_000] * 3
    assert [entry.scores for entry in report.entries] == [{"EqualsExpected": 1.0, "Traced": 1.0}] * 3


async def test_a_case_whose_work_fails_on_a_node_is_a_failure_with_its_reason(mesh: Mesh) -> None:
    report = await evaluate(sums({"9+9": "18"}), mesh.task("calculator", on="school"))
    assert "calculator has failed" in report.failures[0].error_message
    assert report.list_scores("EqualsExpected") == {"9+9": [0.0]}
    assert report.is_complete


async def test_an_agent_that_speaks_a2a_is_evaluated_and_its_cost_is_unknown() -> None:
    agent, model = calculator(model=DearModel())
    async with Platform(ScriptedModel(), store=MemoryStore()) as serving, serve_a2a(serving, agent) as url:
        report = await evaluate(SUMS_AND_TRACES, await RemoteAgent.discover(url))
    assert report.is_complete
    assert len(model.calls) == len(SUMS)
    assert [entry.scores for entry in report.entries] == [{"EqualsExpected": 1.0, "Traced": 1.0}] * 3
    assert [case.metrics["requests"] for case in report.cases] == [1] * 3
    assert report.cost is None, "nobody says what it costs"
