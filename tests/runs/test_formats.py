"""Version of the form in which runs are stored: what a newer program has saved is refused with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tactician import Agent, Platform, RunStatus
from tactician.errors import StoredStateError
from tactician.runs.outcomes.budget import Spent
from tactician.runs.progress.checkpoint import Operation, SavedCheckpoint
from tactician.runs.progress.steps import RunStart, RunStep, Snapshot, read_snapshot, read_step
from tactician.runs.progress.store import RunStore
from tactician.stores.document import StoredStep
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, load_record

SPENT = Spent(usage=[], turns=1, seconds=2.0, actions=0)
START = RunStart(input={"value": "go"}, limits={})
STEP = RunStep(kind="tool", at=1.0, spent=SPENT, operations=(Operation(("call",), "set", {"a": 1}),))
SNAPSHOT = Snapshot(step=3, start=START, spent=SPENT, tree=SavedCheckpoint(data={"a": 1}, children={}))
NEWER = (
    r"cannot be read: a newer Tactician has saved it, in version 2 of the stored format, and this program knows "
    r"version 1\. Continue the run with that Tactician, or upgrade\."
)

Read = Callable[[str], RunStep | Snapshot]


def as_step(text: str) -> RunStep:
    return read_step(StoredStep(7, text))


KINDS = pytest.mark.parametrize(
    ("written", "read", "subject"),
    [(STEP, as_step, "The step 7 of the run"), (SNAPSHOT, read_snapshot, "The state of the run")],
    ids=["step", "snapshot"],
)


def change(text: str, **values: object) -> str:
    return json.dumps(json.loads(text) | values)


def without(text: str, name: str) -> str:
    data: dict[str, Any] = json.loads(text)
    del data[name]
    return json.dumps(data)


@KINDS
class TestForms:
    def test_it_says_its_version(self, written: RunStep | Snapshot, read: Read, subject: str) -> None:
        assert json.loads(written.to_json())["format"] == 1
        assert read(written.to_json()) == written

    def test_without_a_version_it_is_the_first(self, written: RunStep | Snapshot, read: Read, subject: str) -> None:
        assert read(without(written.to_json(), "format")) == written

    def test_a_newer_one_is_refused(self, written: RunStep | Snapshot, read: Read, subject: str) -> None:
        with pytest.raises(StoredStateError, match=f"^{subject} {NEWER}$"):
            read(change(written.to_json(), format=2))

    def test_a_newer_one_of_another_shape_is_refused_for_its_version(
        self, written: RunStep | Snapshot, read: Read, subject: str
    ) -> None:
        with pytest.raises(StoredStateError, match=f"^{subject} {NEWER}$"):
            read(change(without(written.to_json(), "spent"), format=2, state="elsewhere"))

    @pytest.mark.parametrize("version", [None, "1", 0, -1, True, 1.0])
    def test_what_is_no_version_is_refused(
        self, written: RunStep | Snapshot, read: Read, subject: str, version: object
    ) -> None:
        with pytest.raises(StoredStateError, match=f"{subject} cannot be read"):
            read(change(written.to_json(), format=version))

    def test_what_the_program_does_not_know_is_left_out(
        self, written: RunStep | Snapshot, read: Read, subject: str
    ) -> None:
        spent = {**SPENT, "joules": 5}
        assert read(change(written.to_json(), mood="good", spent=spent)) == written


async def test_a_record_of_a_newer_program_is_refused_and_can_be_killed() -> None:
    store = JsonStore()
    platform = Platform(models=ScriptedModel(), store=store).register(Agent("Clerk"))
    run_id = await platform.enqueue("Clerk", "hello")
    document = await store.load("runs", run_id)
    assert document is not None
    await store.save(replace(document, header=change(document.header, format=2), body=None))

    with pytest.raises(StoredStateError, match=f"^The record of the run {run_id} {NEWER}$"):
        await load_record(store, run_id)
    (listed,) = await RunStore(store).find()
    assert "a newer Tactician has saved it" in (listed.problem or "")
    assert await platform.kill(run_id) is RunStatus.KILLED
