"""One trace for one run, however often it waits, and whoever goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from tactician import Agent, Platform, RunContext, RunStatus, UserInput, achieves_goal, action, approve, planned_agent
from tactician.platform import Worker
from tactician.process import ProcessStatus, ask_human
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import tool
from tests.integrations.otel.traces import Traces, attributes, identify
from tests.support.stored import JsonStore

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331


@pytest.fixture
def traces() -> Traces:
    return Traces()


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete something."""
    return f"{name} is gone"


def cleaner() -> Agent:
    model = ScriptedModel().when(prompt_contains="gone").reply("done").script(ToolCall("delete", name="x"))
    return Agent("Cleaner", model=model, tools=[delete])


def manager() -> Agent:
    """An agent around one that waits."""
    model = ScriptedModel().when(prompt_contains="done").reply("all done").script(ToolCall("cleaner", request="clean"))
    return Agent("Manager", model=model, tools=[cleaner().as_tool()])


@planned_agent(description="asks", name="Asker")
class Asker:
    @achieves_goal("answered")
    @action
    async def ask(self, topic: UserInput) -> str:
        return await ask_human(str, "Which?")


def open_platform(store: DocumentStore | None, traces: Traces) -> Platform:
    platform = Platform(ScriptedModel(), store=store, on_event=traces.listener())
    return platform.register(cleaner(), manager(), Asker())


def same(span: ReadableSpan) -> tuple[str, int]:
    return span.name, identify(span).trace_id


@pytest.mark.parametrize("make", [cleaner, manager])
@pytest.mark.parametrize("is_durable", [True, False])
async def test_a_run_that_waited_goes_on_in_its_trace_on_another_platform(
    make: Callable[[], Agent], is_durable: bool, traces: Traces
) -> None:
    store = JsonStore()
    first, second = open_platform(store, traces), open_platform(store, traces)
    if not is_durable:
        first.services.is_durable = second.services.is_durable = False

    waiting = await make().run("clean", context=first.context())
    assert waiting.status is RunStatus.WAITING
    assert traces.still_open == 0
    assert not trace.get_current_span().get_span_context().is_valid
    (request,) = waiting.pending
    with traces.tracers.get_tracer("web").start_as_current_span("POST /answers") as web:
        done = await make().resume(waiting.run_id, {request.id: approve()}, context=second.context())

    assert done.status is RunStatus.COMPLETED
    before, after = traces.named(f"invoke_agent {make().name}")
    assert attributes(before)["tactician.run.status"] == "waiting"
    assert attributes(after)["tactician.run.resumed"] is True
    assert identify(before).trace_id == identify(after).trace_id
    assert after.parent is not None
    assert after.parent.span_id == identify(before).span_id
    assert [link.context.span_id for link in after.links] == [web.get_span_context().span_id]
    assert {same(span)[1] for span in traces.spans if span.name.startswith("execute_tool")} == {same(before)[1]}
    assert traces.still_open == 0


@pytest.mark.parametrize("is_durable", [True, False])
async def test_a_process_that_waited_goes_on_in_its_trace(is_durable: bool, traces: Traces) -> None:
    store = JsonStore() if is_durable else None
    first = open_platform(store, traces)
    second = open_platform(store, traces) if is_durable else first

    process = await first.start(Asker(), "frogs")
    assert process.status is ProcessStatus.WAITING
    assert traces.still_open == 0
    done = await second.respond(process.id, process.pending[0].id, "green")

    assert str(done.status) == "completed"
    before, after = traces.named("invoke_agent Asker")
    assert identify(before).trace_id == identify(after).trace_id
    assert after.parent is not None
    assert after.parent.span_id == identify(before).span_id
    assert traces.tree(before)[:2] == ["plan Asker", "action ask"]
    assert "action ask" in traces.tree(after)
    assert traces.still_open == 0


@pytest.mark.parametrize("name", ["Cleaner", "Asker"])
async def test_a_worker_goes_on_in_the_trace_of_whoever_enqueued_the_run(name: str, traces: Traces) -> None:
    store = JsonStore()
    with traces.tracers.get_tracer("web").start_as_current_span("POST /runs"):
        run_id = await open_platform(store, traces).enqueue(name, "clean")
    assert await Worker(open_platform(store, traces)).run_once()

    run, web = traces.only(f"invoke_agent {name}"), traces.only("POST /runs")
    assert attributes(run)["tactician.run.id"] == run_id
    assert traces.children(web) == [run]


async def test_a_run_goes_on_in_the_trace_of_the_request_it_came_with(traces: Traces) -> None:
    model = ScriptedModel("hello")
    context = replace(RunContext.over(model, traces.listener()), trace_parent=PARENT)
    inner = Agent("Inner", model=model)
    host = Agent("Host", model=ScriptedModel(ToolCall("inner", request="x"), "done"), tools=[inner.as_tool()])

    await host.run("hi", context=context)

    assert traces.trace_ids == {TRACE}
    run, inside = traces.only("invoke_agent Host"), traces.only("invoke_agent Inner")
    assert run.parent is not None
    assert run.parent.span_id == SPAN
    assert inside.parent is not None
    assert inside.parent.span_id == identify(traces.only("execute_tool inner")).span_id


async def test_the_store_keeps_the_trace_as_w3c_wants_it(traces: Traces) -> None:
    store = JsonStore()
    waiting = await cleaner().run("clean", context=open_platform(store, traces).context())

    record = await RunStore(store).load(waiting.run_id)
    assert record is not None
    span = identify(traces.only("invoke_agent Cleaner"))
    assert record.header.trace_parent == f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


@pytest.mark.parametrize("kept", ["", "00-zz-zz-01", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
async def test_a_trace_that_cannot_be_read_is_a_new_one(kept: str, traces: Traces) -> None:
    model = ScriptedModel("hello")
    context = replace(RunContext.over(model, traces.listener()), trace_parent=kept)

    await Agent("Host", model=model).run("hi", context=context)

    assert traces.only("invoke_agent Host").parent is None


async def test_without_traces_nothing_is_kept() -> None:
    store = JsonStore()
    waiting = await cleaner().run("clean", context=Platform(ScriptedModel(), store=store).context())

    record = await RunStore(store).load(waiting.run_id)
    assert record is not None
    assert record.header.trace_parent is None
