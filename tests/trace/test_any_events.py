"""Traces of any events, as logs have them that are incomplete, mixed or damaged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tactician.ensemble import PhaseStarted, TaskCompleted, TaskRestored, TaskResumed, TaskStarted, TaskSuspended
from tactician.events import Event
from tactician.llm.usage import UsageTally
from tactician.process import ProcessStarted
from tactician.runs import RunEnded, RunStarted, RunStatus, RunSuspended
from tactician.trace import Trace
from tests.support.effort import examples

ids = st.sampled_from("abcd")
common = {
    "run_id": st.sampled_from(["r1", "r2", ""]),
    "parent_id": st.sampled_from(["r1", "r2", None]),
    "id": ids,
    "span_id": st.none() | ids,
    "time": st.floats(0, 100),
    "path": st.just(("E",)),
}
task = {"task_id": st.sampled_from("xy"), "role": st.just("R")}
done = {**task, "raw": st.just("out"), "seconds": st.floats(0, 5)}
ended = {"status": st.sampled_from(RunStatus), "seconds": st.just(1.0), "tally": st.builds(UsageTally)}
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, is_resumed=st.booleans(), **common),
    st.builds(ProcessStarted, agent=st.just("A"), goals=st.just(()), **common),
    st.builds(RunSuspended, pending=st.just(()), **common),
    st.builds(RunEnded, **ended, **common),
    st.builds(PhaseStarted, phase=st.just("p"), attempt=st.just(1), **common),
    st.builds(TaskStarted, **task, **common),
    st.builds(TaskResumed, **task, **common),
    st.builds(TaskSuspended, prompts=st.just("?"), **task, **common),
    st.builds(TaskCompleted, **done, **common),
    st.builds(TaskRestored, ended=st.floats(0, 100), **done, **common),
)


@examples(200)
@given(st.lists(events, max_size=30))
def test_any_events_give_a_tree_that_can_be_written(heard: list[Event]) -> None:
    trace = Trace.from_events(heard)
    nodes = list(trace.walk())
    assert len({node.id for node in nodes}) == len(nodes)
    assert {node.run_id for node in nodes} <= {event.run_id for event in heard}
    assert Trace.from_json(trace.to_json()) == trace
    assert "</html>" in trace.to_html()


@examples(50)
@given(st.lists(events, max_size=20), st.sampled_from(["r1", "r2"]))
def test_the_trace_of_one_run_is_a_part_of_the_trace_of_all(heard: list[Event], run_id: str) -> None:
    whole = {node.id for node in Trace.from_events(heard).walk()}
    assert {node.id for node in Trace.from_events(heard, run_id).walk()} <= whole
