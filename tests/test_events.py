"""Every event leaves the process as JSON and comes back; listeners harm nobody."""

import json
import random
import stat
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Literal, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from tactician import Agent
from tactician.errors import DeclarationError, StoredStateError
from tactician.events import Event, EventLog, event_from_json, event_to_json, read_event_log
from tactician.events.bus import EventBus, EventEmitter
from tactician.events.event import find_event_type, new_id
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text, Usage, UserMessage
from tactician.llm.usage import UsageTally
from tactician.loop import PartialReceived, TextReceived, TurnStarted
from tactician.planning import Action, Goal, Plan
from tactician.process import ActionCompleted, PlanMade, ProcessEnded, ProcessStatus
from tactician.runs import RunCompleted, RunContext, RunResult
from tactician.testing import FakeClock, ScriptedModel

find_event_type("")  # there is none, so every module that defines events is imported


def kinds(base: type[Event] = Event) -> Iterator[type[Event]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("tactician.") and find_event_type(kind.type) is kind:
            yield kind
        yield from kinds(kind)


ALL = sorted(set(kinds()), key=lambda kind: kind.__name__)


def sample(kind: object) -> object:
    """A value of an annotated type."""
    if kind in (UsageTally, Plan):
        return tally() if kind is UsageTally else plan()
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        return (sample(arguments[0]),)
    if origin is not None and is_dataclass(origin):
        return RunResult("done", tally=tally())
    if origin is not None:  # a union: its first
        return sample(arguments[0])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{one.name: sample(hints[one.name]) for one in fields(kind) if is_required(one)})
    simple: dict[object, object] = {int: 3, float: 0.5, bool: True, object: {"a": [1]}}
    return simple.get(kind, "text")


def is_required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def tally() -> UsageTally:
    made = UsageTally()
    made.add(Usage(10, 2, requests=1, model="openai:gpt-5.4"))
    return made


def plan() -> Plan:
    dear = Action("write", {"drafted": True}, {"written": True}, cost=lambda world: 0.5)
    return Plan(
        Goal("book", {"written": True}, value=2.0),
        (Action("draft", {}, {"drafted": True}, 0.25), dear),
        (0.25, 0.5),
        2.0,
    )


def built(kind: type[Event]) -> Event:
    hints, build = get_type_hints(kind), cast("Callable[..., Event]", kind)
    needed = {one.name: sample(hints[one.name]) for one in fields(kind) if is_required(one)}
    return build(run_id="r", path=("A", "B"), **needed)


def test_events_of_all_packages_are_covered() -> None:
    homes = {kind.__module__.split(".")[1] for kind in ALL}
    inner = {"agents", "conversation", "ensemble", "guardrails", "llm", "loop", "process", "runs", "tools"}
    assert homes == {*inner, "a2a", "coding", "mcp", "mesh"}
    assert len(ALL) >= 25


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_event_has_a_json_form_and_is_read_back(kind: type[Event]) -> None:
    event = built(kind)
    text = json.dumps(event_to_json(event), allow_nan=False)
    back = event_from_json(text)

    assert type(back) is type(event)
    assert (back.id, back.time, back.run_id, back.path) == (event.id, event.time, "r", ("A", "B"))
    assert event_to_json(back) == event_to_json(event)


def test_what_they_tell_is_all_there() -> None:
    data = event_to_json(PlanMade(run_id="r", plan=plan()))
    assert data["type"] == "PlanMade"
    assert data["plan"] == {
        "goal": {"name": "book", "conditions": {"written": True}, "value": 2.0},
        "actions": [
            {"name": "draft", "pre": {}, "effects": {"drafted": True}, "cost": 0.25, "value": 0.0},
            {"name": "write", "pre": {"drafted": True}, "effects": {"written": True}, "cost": 0.5, "value": 0.0},
        ],
        "costs": [0.25, 0.5],
        "value": 2.0,
        "possible_saving": 0.0,
        "optimal": True,
        "bound": 0.75,
        "gap": 0.0,
    }
    done = event_from_json(event_to_json(ActionCompleted(action="draft", seconds=0.5, tally=tally())))
    assert isinstance(done, ActionCompleted)
    assert done.tally.total.total_tokens == 12
    ended = event_from_json(event_to_json(ProcessEnded(status=ProcessStatus.STUCK, seconds=1.0, tally=tally())))
    assert isinstance(ended, ProcessEnded)
    assert ended.status is ProcessStatus.STUCK


def test_a_plan_says_how_good_it_is_known_to_be_and_is_read_back_as_good() -> None:
    made = PlanMade(run_id="r", plan=replace(plan(), possible_saving=0.25))
    data = event_to_json(made)["plan"]
    assert isinstance(data, dict)
    assert (data["optimal"], data["bound"], data["gap"]) == (False, 0.5, 0.5)

    back = event_from_json(event_to_json(made))

    assert isinstance(back, PlanMade)
    assert (back.plan.optimal, back.plan.bound, back.plan.gap) == (False, 0.5, 0.5)


def test_a_request_leaves_without_those_who_listen_to_it() -> None:
    heard: list[Event] = []
    request = ModelRequest((UserMessage("hi"),), observer=EventEmitter(EventBus(heard.append), "r"))
    back = event_from_json(event_to_json(TurnStarted(turn=1, model="m", request=request)))
    assert isinstance(back, TurnStarted)
    assert back.request == request
    assert back.request.observer is None


class Note(BaseModel):
    text: str
    key: SecretStr


class Odd:
    def __str__(self) -> str:
        raise ValueError("no")


class Colour(Enum):
    RED = "red"


def circle() -> list[object]:
    one: list[object] = []
    one.append(one)
    return one


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (Note(text="x", key=SecretStr("sk-1")), {"text": "x", "key": "**********"}),
        ("a\ud800b", "a?b"),
        ({"k\udfff": 1}, {"k?": 1}),
        (float("nan"), None),
        (b"\xff\x00", "/wA="),
        ({1, 2}, [1, 2]),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        (Colour.RED, "red"),
        (date(2026, 11, 22), "2026-11-22"),
        (Odd(), "<Odd>"),
        (10**400, 10**400),
    ],
)
def test_any_object_has_some_form(value: object, data: object) -> None:
    assert event_to_json(PartialReceived(value=value))["value"] == data


def test_a_circle_ends() -> None:
    assert json.dumps(event_to_json(PartialReceived(value=circle())))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values, st.text(), st.lists(st.text()))
def test_any_output_of_a_run_survives(value: object, run_id: str, path: list[str]) -> None:
    event = RunCompleted(run_id=run_id, path=tuple(path), result=RunResult(value))
    back = event_from_json(json.dumps(event_to_json(event)))
    assert isinstance(back, RunCompleted)
    assert back.result.output == value
    assert event_to_json(back) == event_to_json(event)


@given(st.text() | st.binary() | st.dictionaries(st.text(), json_values) | st.just({"type": "TextReceived"}))
def test_what_is_no_event_is_refused(data: str | bytes | dict[str, object]) -> None:
    with pytest.raises(StoredStateError):
        event_from_json(data)


def test_types_are_found_by_name_and_names_are_unique() -> None:
    assert find_event_type("TextReceived") is TextReceived
    assert find_event_type("Nothing") is None
    with pytest.raises(DeclarationError, match="defines an event of this name already"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class TextReceived_(Event):  # noqa: N801
            type = "TextReceived"


def test_ids_differ_in_programs_that_seed_random() -> None:
    random.seed(7)
    first = new_id()
    random.seed(7)
    assert new_id() != first


class TestBus:
    def test_listeners_hear_in_order_and_once(self) -> None:
        heard: list[tuple[str, Event]] = []

        def first(event: Event) -> None:
            heard.append(("first", event))

        def second(event: Event) -> None:
            heard.append(("second", event))

        bus = EventBus(first, None)
        child = bus.create_child(second, first)
        event = Event(run_id="r")
        child.emit(event)
        assert heard == [("first", event), ("second", event)]
        assert child.listeners == (first, second)

    def test_one_who_leaves_hears_no_more(self) -> None:
        heard: list[Event] = []
        bus = EventBus()
        child = bus.create_child()
        assert not child.is_observed
        leave = bus.subscribe(heard.append)
        assert child.is_observed
        child.emit(Event())
        leave()
        child.emit(Event())
        assert len(heard) == 1

    def test_nothing_is_built_when_nobody_listens(self) -> None:
        def refuse(**fields: object) -> Event:
            raise AssertionError("an event was built")

        EventEmitter(EventBus()).emit(refuse)
        with pytest.raises(AssertionError, match="an event was built"):
            EventEmitter(EventBus(print)).emit(refuse)

    def test_an_emitter_says_whose_events_they_are_and_when(self) -> None:
        heard: list[Event] = []
        clock = FakeClock()
        EventEmitter(EventBus(heard.append), "r", ("A",), clock).emit(TextReceived, text="x")
        assert heard == [TextReceived(run_id="r", path=("A",), text="x")]
        assert heard[0].time == clock.time()
        assert heard[0].id != TextReceived(text="x").id

    def test_a_listener_that_raises_is_logged_and_the_others_hear(self, caplog: pytest.LogCaptureFixture) -> None:
        heard: list[Event] = []

        def broken(event: Event) -> None:
            raise LookupError("deaf")

        EventBus(broken, heard.append).emit(Event(path=("A", "B")))
        assert len(heard) == 1
        assert caplog.messages == ["A / B: a listener failed on Event; the run continues"]
        assert "LookupError: deaf" in caplog.text


def test_messages_and_responses_survive() -> None:
    response = ModelResponse(AssistantMessage((Text("hi"),)), Usage(1, 2, requests=1))
    result = RunResult("hi", messages=(UserMessage("hi"), response.message), tally=tally())
    back = event_from_json(event_to_json(RunCompleted(result=result)))
    assert isinstance(back, RunCompleted)
    assert back.result.messages == result.messages
    assert back.result.usage == result.usage


class TestLog:
    async def test_a_run_is_read_back_as_it_was_heard(self, tmp_path: Path) -> None:
        heard: list[Event] = []
        with EventLog(tmp_path / "events.jsonl") as log:
            await Agent("A").run("hi", context=RunContext.over(ScriptedModel("hello"), log, heard.append))
        read = list(read_event_log(tmp_path / "events.jsonl"))

        assert [event_to_json(event) for event in read] == [event_to_json(event) for event in heard]
        assert [type(event).__name__ for event in read] == ["RunStarted", "TurnStarted", "TurnCompleted", "RunEnded"]
        assert stat.S_IMODE((tmp_path / "events.jsonl").stat().st_mode) == 0o600

    def test_a_line_that_was_cut_off_is_left_out(self, tmp_path: Path) -> None:
        file = tmp_path / "events.jsonl"
        with EventLog(file) as log:
            log(TextReceived(text="a"))
            log(TextReceived(text="b"))
        file.write_text(file.read_text()[:-5])
        assert [event.text for event in read_event_log(file) if isinstance(event, TextReceived)] == ["a"]

    def test_a_line_that_is_no_event_is_named(self, tmp_path: Path) -> None:
        file = tmp_path / "events.jsonl"
        file.write_text('{"type": "TextReceived", "text": "a"}\n{"type": "Unheard"}\n')
        with pytest.raises(StoredStateError, match=r"events\.jsonl:2: The event type 'Unheard' is unknown"):
            list(read_event_log(file))
