"""Reviews of tasks in a trace."""

from __future__ import annotations

from tactician import Ensemble, Review, RunContext, Task
from tactician.ensemble import ReviewDecision
from tactician.testing import FakeClock, ScriptedModel
from tactician.trace import Recorder
from tests.trace.support import outline


def reviewed() -> Ensemble:
    """A task with a gate behind it."""
    return Ensemble("E", [Task("Write", id="write", handler=lambda task: "text", review=Review.after())])


async def test_a_review_that_a_person_answers_later_is_a_node_as_long_as_it_takes() -> None:
    recorder, clock = Recorder(), FakeClock()
    context = RunContext.over(ScriptedModel(), recorder, clock=clock)
    waiting = await reviewed().run({}, context=context)
    (node,) = recorder.read_trace().find("review")
    assert (node.status, node.task_id) == ("waiting", "write")
    clock.advance(60)
    decision = ReviewDecision.retry("shorter")
    waiting = await reviewed().resume(waiting.run_id, {waiting.pending[0].id: decision}, context=context)
    clock.advance(60)
    await reviewed().resume(waiting.run_id, {waiting.pending[0].id: ReviewDecision.approve()}, context=context)
    first, second = recorder.read_trace().find("review")
    assert [(node.facts["decision"], node.seconds) for node in (first, second)] == [("retry", 60), ("approve", 60)]
    assert first.content == {"feedback": "shorter"}
    (task,) = recorder.read_trace().find("task")
    assert (task.status, task.seconds, len(task.pauses)) == ("completed", 120, 2)


async def test_a_decision_on_a_review_of_another_process_is_a_node_of_its_own() -> None:
    context = RunContext.over(ScriptedModel())
    waiting = await reviewed().run({}, context=context)
    answer = {waiting.pending[0].id: ReviewDecision.approve()}
    result = await reviewed().resume(waiting.run_id, answer, context=context.with_capture())
    (root,) = result.trace.roots
    assert [node.facts["decision"] for node in result.trace.find("review")] == ["approve"]
    assert outline(root)[0] == "run E"
