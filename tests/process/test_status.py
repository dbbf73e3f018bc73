"""The states of a process, and the one table of transitions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import ProcessStatus
from tactician.runs import RunStatus
from tactician.runs.outcomes.status import TERMINAL

RESTING = {ProcessStatus.STUCK, ProcessStatus.WAITING, ProcessStatus.PAUSED, ProcessStatus.RESTING}
statuses = st.sampled_from(ProcessStatus)


def follow(start: ProcessStatus, wanted: list[ProcessStatus]) -> list[ProcessStatus]:
    """The states that a process goes through when it is asked for these, one after the other."""
    seen = [start]
    for status in wanted:
        if seen[-1].may_become(status):
            seen.append(status)
    return seen


@given(st.sampled_from(sorted(TERMINAL)), st.lists(statuses))
def test_a_final_state_is_final(final: ProcessStatus, wanted: list[ProcessStatus]) -> None:
    assert follow(final, wanted) == [final]


@given(st.lists(statuses, max_size=30))
def test_whatever_is_asked_for_at_most_the_last_state_is_final(wanted: list[ProcessStatus]) -> None:
    seen = follow(ProcessStatus.NOT_STARTED, wanted)
    assert not any(status.is_terminal for status in seen[:-1])
    assert ProcessStatus.NOT_STARTED not in seen[1:]


@given(st.lists(statuses, max_size=30))
def test_between_two_rests_a_process_runs(wanted: list[ProcessStatus]) -> None:
    seen = follow(ProcessStatus.NOT_STARTED, wanted)
    assert not any(a in RESTING and b in RESTING for a, b in pairwise(seen))


def test_a_process_has_the_status_of_any_run() -> None:
    assert ProcessStatus is RunStatus


def test_four_states_are_final() -> None:
    assert {status for status in ProcessStatus if status.is_terminal} == TERMINAL
    assert {status.name for status in TERMINAL} == {"COMPLETED", "FAILED", "TERMINATED", "KILLED"}


@pytest.mark.parametrize("status", sorted(RESTING))
def test_a_process_that_rests_can_go_on_or_end(status: ProcessStatus) -> None:
    may = {other for other in ProcessStatus if status.may_become(other)}
    assert may == {ProcessStatus.RUNNING, ProcessStatus.FAILED, ProcessStatus.KILLED, ProcessStatus.TERMINATED}


def test_a_running_process_can_end_or_rest_but_not_start() -> None:
    may = {other for other in ProcessStatus if ProcessStatus.RUNNING.may_become(other)}
    assert may == TERMINAL | RESTING


def test_a_process_that_has_not_started_can_be_run_or_killed() -> None:
    may = {other for other in ProcessStatus if ProcessStatus.NOT_STARTED.may_become(other)}
    assert may == {ProcessStatus.RUNNING, ProcessStatus.KILLED}
