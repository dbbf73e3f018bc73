"""Trees of what runs did, made from events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from tactician import Agent, Ensemble, Platform, RouterAgent, RunContext, Task, tool
from tactician.ensemble import EnsembleResult, TaskCompleted, TaskFailedError, TaskInput, TaskRestored, TaskStarted
from tactician.events import Event, EventLog, read_event_log
from tactician.events.span_facts import SpanFacts
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, Usage
from tactician.llm.model import Delta
from tactician.platform import Worker
from tactician.runs import RunStatus, approve
from tactician.runs.progress.store import RunStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tactician.trace import Recorder, Trace
from tactician.trace.capture import CaptureMode
from tactician.trace.node import ModelUse
from tests.ensemble.support import says
from tests.support.stored import JsonStore
from tests.trace.support import SECRET, newsroom, outline, run_newsroom, script, search


async def test_a_trace_has_tasks_runs_model_calls_and_tools() -> None:
    (root,) = (await run_newsroom()).trace.roots
    assert outline(root) == [
        "run Newsroom",
        ["task research", ["run Researcher", ["model scripted"], ["tool search"], ["model scripted"]]],
        ["task interview", ["run <lambda>"]],
        ["task report", ["run Writer", ["model scripted"]]],
    ]
    assert {node.status for node in root.walk()} == {"completed"}
    assert all(node.ended is not None and node.started <= node.ended for node in root.walk())


async def test_nodes_have_the_task_that_they_are_a_part_of() -> None:
    trace = (await run_newsroom()).trace
    assert {node.task_id for node in trace.find("model")} == {"research", "report"}
    assert trace.roots[0].task_id is None


async def test_standard_has_texts_shortened_and_full_has_all() -> None:
    standard, full = (await run_newsroom("standard")).trace, (await run_newsroom("full")).trace
    (short,), (whole,) = standard.find("tool"), full.find("tool")
    assert short.content["arguments"] == '{"query":"frogs"}'
    assert str(short.content["result"]).endswith("… (4,007 characters)")
    assert whole.content["result"] == f"frogs: {SECRET}"
    assert "messages" not in standard.find("model")[1].content
    messages = full.find("model")[1].content["messages"]
    assert isinstance(messages, list)
    assert len(messages) > 2


async def test_off_has_the_tasks_alone() -> None:
    result = await run_newsroom("off")
    (root,) = result.trace.roots
    assert (root.name, result.name) == ("Newsroom", "Newsroom")
    assert [(node.kind, node.task_id) for node in root.children] == [
        ("task", output.task_id) for output in result.task_outputs
    ]
    assert root.total_use.requests == 3
    assert root.children[-1].content == {"output": "Frogs hear with their lungs."}


async def test_off_is_what_happens_by_default() -> None:
    assert {node.kind for node in (await run_newsroom(None)).trace.walk()} == {"run", "task"}


async def test_an_unknown_capture_mode_is_a_mistake() -> None:
    with pytest.raises(Exception, match="'everything' is not one of 'off', 'standard', 'full'"):
        newsroom("everything")


async def test_any_run_can_be_captured() -> None:
    agent = Agent("Host", model=ScriptedModel(ToolCall("search", query="x"), "Hello."), tools=[search])
    router = RouterAgent("Desk", routes={"all": agent, "none": says("Nobody")}, model=ScriptedModel("1"))
    result = await router.run("Hi", context=RunContext.over(ScriptedModel()).with_capture())
    (root,) = result.trace.roots
    assert root.name == "Desk"
    assert [node.name for node in result.trace.find("tool")] == ["search"]
    assert not (await Agent("Host", model=ScriptedModel("Hello.")).run("Hi")).trace


async def test_runs_inside_a_captured_run_have_their_part_of_its_trace() -> None:
    inner = Ensemble("Inner", [Task("Draft"), Task("Check")])
    outer = Ensemble("Outer", [Task("Publish", agent=inner)], capture="standard")
    trace = (await outer.run({}, context=RunContext.over(ScriptedModel("a", "b")))).trace
    assert [node.task_id for node in trace.find("task")] == ["Publish", "Draft", "Check"]


async def test_the_words_of_an_ensemble_that_is_off_are_in_no_trace_around_it() -> None:
    inner = Ensemble("Inner", [Task("Draft", id="draft", tools=[search])], capture="off")
    outer = Ensemble("Outer", [Task("Publish", agent=inner), Task("Report", id="report")], capture="full")
    model = ScriptedModel(ToolCall("search", query="private query"), "inner words", "outer words")
    trace = (await outer.run({}, context=RunContext.over(model))).trace
    assert [node.name for node in trace.find("tool")] == ["search"]
    assert [node.content for node in trace.find("tool")] == [{}]
    assert [bool(node.content) for node in trace.find("model")] == [False, False, True]
    assert {node.task_id: node.content for node in trace.find("task")} == {
        "Publish": {"output": "inner words"},  # words of the outer one
        "draft": {},
        "report": {"output": "outer words"},
    }
    assert "private query" not in trace.to_json()
    assert trace.total_use.requests == 3


async def test_runs_at_the_same_time_do_not_mix() -> None:
    ensemble = newsroom()
    results = await asyncio.gather(
        *(ensemble.run({"topic": "x"}, context=RunContext.over(script())) for _ in range(20))
    )
    assert all(outline(result.trace.roots[0]) == outline(results[0].trace.roots[0]) for result in results)
    assert {len(result.trace.roots) for result in results} == {1}


async def test_a_failed_run_has_a_trace() -> None:
    def fail(task: TaskInput) -> str:
        raise ConnectionError("the press is down")

    for mode in ("standard", "off"):
        ensemble = Ensemble("E", [Task("a", handler=lambda task: "x"), Task("b", handler=fail)], capture=mode)
        with pytest.raises(TaskFailedError) as caught:
            await ensemble.run({}, context=RunContext.over(ScriptedModel()))
        trace = caught.value.result.trace
        assert trace.roots[0].status == "failed"
        assert trace.find("task", "a")[0].status == "completed"
        if mode == "standard":
            assert trace.find("task", "b")[0].error == "ConnectionError: the press is down"


class MeteredModel:
    """Model that reports its tokens only every other time."""

    name = "local:half"
    features = Features()

    def __init__(self) -> None:
        self.calls = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return an answer."""
        self.calls += 1
        known = Usage(10, 5, requests=1) if self.calls % 2 else Usage(requests=1)
        return ModelResponse(AssistantMessage((Text("ok"),)), known.attribute_to(self.name), "stop", "half")

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer as a whole."""
        yield await self.generate(request)


async def test_unknown_token_counts_are_unknown_and_poison_no_total() -> None:
    model = MeteredModel()
    ensemble = Ensemble("E", [Task("a"), Task("b"), Task("c")], model=model, capture="standard")
    trace = (await ensemble.run({}, context=RunContext.over(ScriptedModel()))).trace
    assert [node.used[0].input_tokens for node in trace.find("model")] == [10, None, 10]
    assert trace.use_by_model == {"local:half": ModelUse("local:half", 3, 20, 10, 1, 0.0, 1)}
    assert trace.total_use.total_tokens == 30
    assert trace.find("task", "b")[0].total_use.total_tokens is None


async def test_a_full_recorder_records_no_more() -> None:
    recorder = Recorder(most_events=3)
    await Agent("Host", model=ScriptedModel("Hello.")).run("Hi", context=RunContext.over(ScriptedModel(), recorder))
    assert recorder.is_full
    (root,) = recorder.read_trace().roots
    assert (root.status, root.ended) == ("running", None)


async def test_pieces_of_text_are_not_recorded() -> None:
    agent, recorder = Agent("Host", model=ScriptedModel("Hello there.")), Recorder(CaptureMode.FULL)
    heard = [event async for event in agent.stream("Hi", context=RunContext.over(ScriptedModel(), recorder))]
    assert any(event.type == "TextReceived" for event in heard)
    assert [note.kind for node in recorder.read_trace().walk() for note in node.notes] == []


@tool(needs_approval=True)
async def publish(text: str) -> str:
    """Publish a text."""
    return "published"


async def test_a_run_that_waited_is_one_node_with_a_pause() -> None:
    clock, recorder = FakeClock(), Recorder()
    agent = Agent("Host", model=ScriptedModel(ToolCall("publish", text="x"), "Done."), tools=[publish])
    context = RunContext.over(ScriptedModel(), recorder, clock=clock)
    waiting = await agent.run("Hi", context=context)
    clock.advance(3600)
    done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert done.status is RunStatus.COMPLETED
    (root,) = recorder.read_trace().roots
    assert (root.status, root.seconds) == ("completed", 3600)
    assert [pause.ended - pause.started for pause in root.pauses] == [3600]
    assert [note.kind for note in root.notes] == ["RunSuspended", "RequestAnswered"]


class HangingModel(ScriptedModel):
    """Model that answers no more, once its script has ended."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(*steps)
        self.hangs = asyncio.Event()
        self._left = len(steps)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return an answer, or never return."""
        self._left -= 1
        if self._left < 0:
            self.hangs.set()
            await asyncio.Event().wait()
        return await super().generate(request)


async def start_and_go_on(tmp_path: Path, capture: str | None = None) -> tuple[Trace, EnsembleResult]:
    """Interrupt a run in one program in its last task, and let it end in another one.

    Return the trace of both logs, and the result.
    """
    store, logs = JsonStore(), [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    with EventLog(logs[0]) as log:
        model = HangingModel(ToolCall("search", query="frogs"), "Frogs have no ears.")
        first = Platform(models=model, store=store, on_event=log).register(newsroom(None))
        run_id = await first.enqueue("Newsroom", {"topic": "frogs"})
        working = asyncio.create_task(Worker(first).run_once())
        await model.hangs.wait()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    with EventLog(logs[1]) as log:
        second = Platform(models=ScriptedModel("Frogs hear with their lungs."), store=store, on_event=log)
        second.register(newsroom(capture))
        claimed = await RunStore(store).claim("second", 30.0, run_id=run_id)
        assert claimed is not None
        result = await second.continue_claimed(*claimed)
        assert isinstance(result, EnsembleResult)
    events = [event for path in logs for event in read_event_log(path)]
    return Trace.from_events(events, run_id), result


async def test_a_run_that_goes_on_elsewhere_is_one_tree_of_both_event_logs(tmp_path: Path) -> None:
    trace, _ = await start_and_go_on(tmp_path)
    (root,) = trace.roots
    assert [(node.task_id, node.status) for node in root.children] == [
        ("research", "completed"),
        ("interview", "completed"),
        ("report", "completed"),
    ]
    assert [node.name for node in root.children[0].walk()] == [
        "research",
        "Researcher",
        "scripted",
        "search",
        "scripted",
    ]
    assert trace.total_use.requests == 3
    assert root.status == "completed"
    assert len(root.pauses) == 1


async def test_in_the_second_program_a_result_has_the_tasks_of_the_first_one(tmp_path: Path) -> None:
    _, result = await start_and_go_on(tmp_path, "standard")
    tasks = {node.task_id: node for node in result.trace.roots[0].children}
    assert tasks.keys() == {"research", "interview", "report"}
    assert tasks["research"].children == ()
    assert tasks["research"].total_use.requests == 2
    assert tasks["research"].content == {"output": "Frogs have no ears."}
    assert tasks["research"].ended == result["research"].ended
    assert [node.kind for node in tasks["report"].walk()] == ["task", "run", "model"]
    assert result.trace.total_use.requests == 3


async def test_event_logs_are_read_as_the_events_themselves(tmp_path: Path) -> None:
    store, events = JsonStore(), list[Event]()
    first = Platform(models=script(), store=store, on_event=events.append).register(newsroom(None))
    run_id = await first.enqueue("Newsroom", {"topic": "frogs"})
    await Worker(first).run_once()
    log = tmp_path / "events.jsonl"
    with EventLog(log) as write:
        for event in events:
            write(event)
    trace = Trace.from_events(read_event_log(log), run_id)
    assert len(trace.roots) == 1
    assert trace == Trace.from_events(events, run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutStarted(Event):
    """Event of a checkout that begins."""

    opens: ClassVar[str | None] = "checkout"

    shop: str

    def describe_span(self) -> SpanFacts:
        """Return the shop."""
        return SpanFacts(self.shop, content={"basket": ["frogs", "ears"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutEnded(Event):
    """Event of a checkout that ends."""

    closes: ClassVar[str | None] = "checkout"

    def describe_span(self) -> SpanFacts:
        """Return the price."""
        return SpanFacts(facts={"price": 17})


async def test_events_of_your_own_are_nodes_with_what_happens_between_them() -> None:
    async def buy(task: TaskInput) -> str:
        run = RunContext.current()
        run.emit(CheckoutStarted, shop="Corner shop")
        paid = (await says("Cashier", "paid").run("Pay")).output
        run.emit(CheckoutEnded)
        return paid

    ensemble = Ensemble("E", [Task("Buy", handler=buy)], capture="standard")
    (node,) = (await ensemble.run({}, context=RunContext.over(ScriptedModel()))).trace.find("checkout")
    assert (node.name, node.status, node.facts, node.task_id) == ("Corner shop", "completed", {"price": 17}, "Buy")
    assert node.content == {"basket": ["frogs", "ears"]}
    assert [child.kind for child in node.walk()] == ["checkout", "run", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid(CheckoutEnded):
    """Event of a checkout that ends, or of one of which nothing else is known."""

    opens: ClassVar[str | None] = "checkout"


async def test_an_event_that_opens_and_closes_ends_what_is_open_and_else_is_all_of_it() -> None:
    async def buy(task: TaskInput) -> str:
        run = RunContext.current()
        run.emit(CheckoutStarted, shop="Corner shop")
        await says("Cashier", "paid").run("Pay")
        run.emit(Paid)
        await says("Shelf", "filled").run("Fill the shelf")
        run.emit(Paid)
        return "done"

    ensemble = Ensemble("E", [Task("Buy", handler=buy)], capture="standard")
    (run,) = (await ensemble.run({}, context=RunContext.over(ScriptedModel()))).trace.find("run", "buy")
    assert [(node.kind, node.name) for node in run.children] == [
        ("checkout", "Corner shop"),
        ("run", "Shelf"),
        ("checkout", ""),
    ]
    assert [node.name for node in run.children[0].children] == ["Cashier"]


def test_a_task_that_was_completed_several_times_is_as_many_nodes() -> None:
    def run(began: float) -> list[Event]:
        start = TaskStarted(task_id="write", role="Writer", run_id="r", time=began)
        end = TaskCompleted(task_id="write", role="Writer", run_id="r", time=began + 1, raw="text", seconds=1.0)
        return [start, end]

    def restore(ended: float) -> Event:
        return TaskRestored(task_id="write", role="Writer", run_id="r", time=9, raw="text", seconds=1.0, ended=ended)

    restored = [restore(2), restore(4), restore(6)]
    times = [(node.started, node.ended) for node in Trace.from_events([*run(1), *run(3), *restored]).roots]
    assert times == [(1, 2), (3, 4), (5, 6)]
    assert [(node.started, node.ended) for node in Trace.from_events(restored).roots] == times
