"""What a listener hears of a process, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Ai,
    OperationContext,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.events import Event
from tactician.loop import TurnCompleted, TurnStarted
from tactician.process import (
    ActionCompleted,
    ActionStarted,
    AgentProcess,
    PlanMade,
    PlanningEnded,
    PlanningStarted,
    ProcessEnded,
    ProcessStarted,
)
from tactician.testing import ScriptedModel
from tests.agents.running import started
from tests.support.failures import without_lines


@dataclass(frozen=True)
class Draft:
    text: str


@planned_agent(description="writes", name="Writer")
class Author:
    @action
    async def draft(self, user_input: UserInput, ai: Ai) -> Draft | None:
        """Drafts the text.

        More about it.
        """
        return await ai.create_if_possible(Draft, user_input.content)

    @action(cost=1.0, description="Takes an old text")
    def recycle(self, user_input: UserInput) -> Draft:
        return Draft("old")

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> str:
        if draft.text == "bad":
            raise ValueError("not that")
        return draft.text


async def heard(model: ScriptedModel, *objects: object) -> tuple[AgentProcess, list[Event]]:
    events: list[Event] = []
    return await started(Author(), *objects, model=model, on_event=events.append), events


def plans(events: list[Event]) -> list[str]:
    return [str(event.plan) for event in events if isinstance(event, PlanMade)]


async def test_events_come_in_order_with_run_ids_and_paths() -> None:
    process, events = await heard(ScriptedModel({"value": {"text": "d"}}), "x")
    planned = [PlanningStarted, PlanningEnded]
    expected = [ProcessStarted, *planned, PlanMade, ActionStarted, TurnStarted, TurnCompleted, ActionCompleted]
    expected += [*planned, ActionStarted, ActionCompleted, *planned, ProcessEnded]
    assert [type(event) for event in events] == expected
    own = [event for event in events if not isinstance(event, TurnStarted | TurnCompleted)]
    turns = [event for event in events if isinstance(event, TurnStarted | TurnCompleted)]
    assert {event.run_id for event in own} == {process.id}
    assert {event.path for event in own} == {("Writer",)}
    assert {event.path for event in turns} == {("Writer", "draft")}
    assert len({event.run_id for event in turns}) == 1
    assert turns[0].run_id != process.id


async def test_the_first_event_names_the_agent_and_its_goals() -> None:
    _, events = await heard(ScriptedModel({"value": {"text": "d"}}), "x")
    assert isinstance(first := events[0], ProcessStarted)
    assert (first.agent, first.goals) == ("Writer", ("publish",))


async def test_an_action_is_described_by_its_docstring_or_its_declaration() -> None:
    _, events = await heard(ScriptedModel({"value": None}), "x")
    described = {event.action: event.description for event in events if isinstance(event, ActionStarted)}
    assert described == {"draft": "Drafts the text.", "recycle": "Takes an old text", "publish": ""}


async def test_a_plan_is_told_when_it_is_not_the_rest_of_the_last_one() -> None:
    _, events = await heard(ScriptedModel({"value": {"text": "d"}}), "x")
    assert plans(events) == ["draft -> publish"]
    _, events = await heard(ScriptedModel({"value": None}), "x")
    assert plans(events) == ["draft -> publish", "recycle -> publish"]


async def test_a_completed_action_tells_what_it_gave_and_used() -> None:
    process, events = await heard(ScriptedModel({"value": {"text": "d"}}), "x")
    draft, publish = (event for event in events if isinstance(event, ActionCompleted))
    assert (draft.action, draft.outputs, draft.error) == ("draft", ("Draft",), None)
    assert draft.tally.total.total_tokens == 15
    assert (publish.outputs, publish.tally.total.total_tokens) == (("str",), 0)
    assert draft.seconds == process.history[0].seconds


async def test_the_last_event_tells_how_it_ended() -> None:
    process, events = await heard(ScriptedModel({"value": {"text": "d"}}), "x")
    assert isinstance(last := events[-1], ProcessEnded)
    assert (last.status, last.failure) == (ProcessStatus.COMPLETED, None)
    assert last.tally is process.tally


async def test_a_failure_is_told_by_the_action_and_by_the_process() -> None:
    _, events = await heard(ScriptedModel(), Draft("bad"))
    completed, ended = events[-2:]
    assert isinstance(completed, ActionCompleted)
    assert completed.error == "ValueError: not that"
    assert isinstance(ended, ProcessEnded)
    assert (ended.status, without_lines(ended.failure)) == (ProcessStatus.FAILED, "publish raised ValueError: not that")


async def test_a_process_without_a_plan_tells_only_that() -> None:
    _, events = await heard(ScriptedModel())
    assert [type(event) for event in events] == [ProcessStarted, PlanningStarted, PlanningEnded, ProcessEnded]
    assert isinstance(last := events[-1], ProcessEnded)
    assert last.status is ProcessStatus.STUCK
    assert last.failure is not None
    assert "'UserInput' is missing" in last.failure


@pytest.mark.parametrize("kind", [Event, ActionCompleted, ProcessEnded])
@pytest.mark.parametrize("is_of_options", [False, True])
async def test_a_listener_that_raises_is_in_the_log_and_harms_nobody(
    kind: type[Event], is_of_options: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: Event) -> None:
        assert not isinstance(event, kind), "deaf"

    told: list[Event] = []
    hears, reads = (told.append, broken) if is_of_options else (broken, told.append)
    platform = Platform(ScriptedModel({"value": {"text": "d"}}), on_event=hears)
    process = await platform.start(Author(), "x", options=ProcessOptions(on_event=reads))

    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert isinstance(told[-1], ProcessEnded), "the other one hears it all"
    what = (ActionCompleted if kind is ActionCompleted else ProcessEnded).__name__
    assert f"Writer: a listener failed on {what}; the run continues" in caplog.messages
    assert "AssertionError: deaf" in caplog.text


async def test_a_listener_that_raises_is_told_of_once_for_what_happens_in_a_process_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @planned_agent(description="has another one write")
    class Editor:
        @achieves_goal("edited")
        @action
        async def edit(self, topic: UserInput, context: OperationContext) -> str:
            return await context.run_agent(Author(), str, topic)

    def broken(event: Event) -> None:
        assert not isinstance(event, ProcessEnded), "deaf"

    process = await started(Editor(), "x", model=ScriptedModel({"value": {"text": "d"}}), on_event=broken)

    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert [message.partition(":")[0] for message in caplog.messages] == ["Editor / edit / Writer", "Editor"]
