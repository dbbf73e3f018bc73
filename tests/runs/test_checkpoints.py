"""Checkpoints: a tree of data whose changes, folded in any way, give the same tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.errors import StoredStateError
from tactician.runs import PendingRequest
from tactician.runs.outcomes.budget import Spent
from tactician.runs.progress.checkpoint import Changes, Checkpoint, Data, Live, Operation
from tactician.runs.progress.steps import RunStart, RunStep, Snapshot, fold, read_snapshot, read_step
from tactician.stores.document import StoredStep

START = RunStart(input={"value": "go"}, limits={})
SPENT = Spent(usage=[], turns=0, seconds=0.0, actions=0)
KEYS = st.sampled_from(["a", "b", "c#2"])
PLACES = st.lists(KEYS, max_size=3)
VALUES = st.one_of(st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=3), st.none())


class Log:
    """Journal that notes all changes."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def record_operation(self, operation: Operation) -> None:
        self.operations.append(operation)

    async def save(self, checkpoint: Checkpoint, kind: str, name: str = "", detail: str = "") -> None:
        self.operations.extend(checkpoint.take_changes())

    async def show_pending(self, asked: Iterable[PendingRequest], answered: Collection[str]) -> None:
        pass

    async def check_lease(self) -> None:
        pass


@dataclass
class Change:
    """Change of a tree, as a run makes it."""

    place: list[str]
    key: str
    value: object
    drops: bool

    def make(self, tree: Checkpoint) -> None:
        checkpoint = tree
        for key in self.place:
            checkpoint = checkpoint.at(key)
        if self.drops:
            checkpoint.drop(self.key)
        else:
            checkpoint.set(**{self.key: self.value})


CHANGES = st.lists(st.builds(Change, PLACES, KEYS, VALUES, st.booleans()), max_size=20)


def step(operations: list[Operation]) -> RunStep:
    return RunStep(kind="step", at=1.0, spent=SPENT, start=START, operations=tuple(operations))


def stripped(saved: object) -> object:
    """Return a saved tree without checkpoints that say nothing: nobody can tell them from those that are not there."""
    assert isinstance(saved, dict)
    children = {key: stripped(child) for key, child in saved["children"].items()}
    return {"data": saved["data"], "children": {k: c for k, c in children.items() if c != {"data": {}, "children": {}}}}


@given(CHANGES, st.integers(0, 20), st.booleans())
def test_a_snapshot_and_the_steps_after_it_give_the_same_tree(changes: list[Change], at: int, as_text: bool) -> None:
    log, tree = Log(), Checkpoint("Team")
    tree.connect(log)
    for change in changes:
        change.make(tree)
    steps = [step([operation]) for operation in log.operations]
    if as_text:
        steps = [read_step(StoredStep(number, one.to_json())) for number, one in enumerate(steps, start=1)]

    early = fold("Team", Snapshot(start=START, spent=SPENT, tree=Checkpoint("Team").to_saved()), steps[:at])
    snapshot = Snapshot(step=at, start=START, spent=SPENT, tree=early.tree.to_saved())
    if as_text:
        snapshot = read_snapshot(snapshot.to_json())
    late = fold("Team", snapshot, steps[at:])

    assert stripped(late.tree.to_saved()) == stripped(tree.to_saved())


class Counter:
    """Live state of a run that counts."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.saved = 0

    def to_data(self) -> Data:
        return {"values": list(self.values), "count": len(self.values)}

    def take_changes(self) -> Changes:
        new = self.values[self.saved :]
        self.saved = len(self.values)
        return Changes({"count": len(self.values)}, {"values": list(new)} if new else {})


@given(st.lists(st.tuples(st.integers(), st.booleans())))
def test_a_live_state_and_its_changes_give_the_same_data(values: list[tuple[int, bool]]) -> None:
    tree, counter, operations = Checkpoint("Counter"), Counter(), list[Operation]()
    tree.attach(counter)
    for value, is_saved in values:
        counter.values.append(value)
        if is_saved:
            operations.extend(tree.take_changes())
    operations.extend(tree.take_changes())

    folded = fold("Counter", None, [step(operations)])
    tree.detach()

    assert {"values": [], **folded.tree.data} == dict(tree.data) == counter.to_data()


def test_what_was_dropped_is_changed_by_no_task_that_lingers() -> None:
    log, tree = Log(), Checkpoint("Team")
    tree.connect(log)
    member = tree.at("coder")
    tree.drop("coder")

    member.set(late=True)
    member.at("call").set(late=True)

    assert [operation.kind for operation in log.operations] == ["drop"]
    assert tree.at("coder").data == {}


def test_a_live_object_is_itself_until_it_is_written() -> None:
    value = object()
    kept = step([Operation((), "set", {"it": Live(value, lambda _: "an object")})])

    live = fold("Team", None, [kept]).tree.data["it"]
    assert isinstance(live, Live)
    assert live.value is value
    assert fold("Team", None, [read_step(StoredStep(1, kept.to_json()))]).tree.data["it"] == "an object"


def test_a_log_without_its_beginning_is_refused() -> None:
    with pytest.raises(StoredStateError, match=r"The state of the run of Team cannot be read: its first step is miss"):
        fold("Team", None, [])
