"""Phases with their reviews, and loops, in a trace."""

from __future__ import annotations

from tactician import Ensemble, Loop, Phase, PhaseReview, RunContext, Task
from tactician.testing import ScriptedModel
from tactician.trace import Trace
from tests.trace.support import outline


async def run_phases(*decisions: str) -> Trace:
    """The trace of two phases, the second of which has a review."""
    answers = iter(decisions)
    gather = Phase("gather", [Task("Gather", id="gather it", handler=lambda task: "facts")])
    review = PhaseReview(Task("Review", id="review it", handler=lambda task: next(answers)))
    write = Phase("write", [Task("Write", id="write it", handler=lambda task: "text")], after=[gather], review=review)
    ensemble = Ensemble("Firm", phases=[gather, write], capture="standard")
    return (await ensemble.run({}, context=RunContext.over(ScriptedModel()))).trace


async def test_each_attempt_at_a_phase_is_a_node_with_its_tasks_and_its_decision() -> None:
    trace = await run_phases("RETRY: shorter", "APPROVE")
    (root,) = trace.roots
    assert [(node.name, node.status, node.facts.get("decision")) for node in root.children] == [
        ("gather", "completed", None),
        ("write", "retry", "retry"),
        ("write", "completed", "approve"),
    ]
    assert root.children[1].content == {"feedback": "shorter"}
    assert [[node.task_id for node in phase.children] for phase in root.children] == [
        ["gather it"],
        ["write it", "review it"],
        ["write it", "review it"],
    ]
    assert outline(root.children[0]) == ["phase gather", ["task gather it", ["run <lambda>"]]]


async def test_a_phase_that_another_one_runs_again_is_not_inside_of_that() -> None:
    trace = await run_phases("RETRY_PREDECESSOR: more facts", "APPROVE")
    assert [node.name for node in trace.roots[0].children] == ["gather", "write", "gather", "write"]
    assert {node.status for node in trace.find("phase")} == {"completed", "retry_predecessor"}


async def test_each_iteration_of_a_loop_has_nodes_of_its_own() -> None:
    draft = Task("Draft", id="draft", handler=lambda task: "text")
    check = Task("Check", id="check", context=[draft], handler=lambda task: "no")
    loop = Loop([draft, check], until=lambda outputs: False, max_iterations=2)
    ensemble = Ensemble("E", [loop], capture="standard")
    trace = (await ensemble.run({}, context=RunContext.over(ScriptedModel()))).trace
    (task,) = trace.roots[0].children
    assert [node.task_id for node in task.children[0].children] == ["draft", "check", "draft", "check"]
