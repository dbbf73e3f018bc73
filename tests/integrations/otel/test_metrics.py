"""What is measured."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics.export import HistogramDataPoint, NumberDataPoint

from tactician import Agent, Platform, RunContext, UserInput, achieves_goal, action, planned_agent
from tactician.errors import ModelServerError
from tactician.llm import CircuitClosed, CircuitOpened, ModelFellBack, RequestDelayed, RequestRetried
from tactician.testing import ScriptedModel, ToolCall
from tests.integrations.otel.traces import Traces


@pytest.fixture
def traces() -> Traces:
    return Traces()


def measured(traces: Traces, metric: str, *labels: str) -> dict[tuple[object, ...], tuple[int, float]]:
    """Return the number and the sum of the values of a histogram, by the values of these labels."""
    found: dict[tuple[object, ...], tuple[int, float]] = {}
    for point in traces.points(metric):
        assert isinstance(point, HistogramDataPoint)
        found[tuple((point.attributes or {}).get(label) for label in labels)] = (point.count, point.sum)
    return found


def counted(traces: Traces, metric: str, *labels: str) -> dict[tuple[object, ...], float]:
    found: dict[tuple[object, ...], float] = {}
    for point in traces.points(metric):
        assert isinstance(point, NumberDataPoint)
        found[tuple((point.attributes or {}).get(label) for label in labels)] = point.value
    return found


def look() -> str:
    """Look."""
    return "seen"


async def test_tokens_durations_and_costs_are_measured(traces: Traces) -> None:
    model = ScriptedModel(ToolCall("look"), "done", name="openai:gpt-5.4")
    await Agent("Host", model=model, tools=[look]).run("hi", context=RunContext.over(model, traces.listener()))

    labels = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type")
    assert measured(traces, "gen_ai.client.token.usage", *labels) == {
        ("chat", "openai", "gpt-5.4", "input"): (2, 20),
        ("chat", "openai", "gpt-5.4", "output"): (2, 10),
    }
    operations = measured(traces, "gen_ai.client.operation.duration", "gen_ai.operation.name", "error.type")
    assert [(kind, count) for kind, (count, _) in operations.items()] == [(("chat", None), 2)]
    assert [count for count, _ in measured(traces, "gen_ai.invoke_agent.duration", "gen_ai.agent.name").values()] == [1]
    assert list(measured(traces, "gen_ai.execute_tool.duration", "gen_ai.tool.name")) == [("look",)]
    (cost,) = counted(traces, "tactician.cost").values()
    result = ScriptedModel("x", name="openai:gpt-5.4")
    priced = (await Agent("Other", model=result).run("hi")).cost
    assert priced is not None
    assert cost == pytest.approx(2 * priced)


async def test_what_fails_is_measured_with_its_error(traces: Traces) -> None:
    model = ScriptedModel(ModelServerError("down"))
    with pytest.raises(ModelServerError):
        await Agent("Host", model=model).run("hi", context=RunContext.over(model, traces.listener()))

    for metric in ("gen_ai.client.operation.duration", "gen_ai.invoke_agent.duration"):
        assert list(measured(traces, metric, "error.type")) == [("ModelServerError",)]
    assert traces.points("gen_ai.client.token.usage") == []


async def test_a_process_is_measured_once_and_its_decisions_too(traces: Traces) -> None:
    @planned_agent(description="echoes", name="Echo")
    class Echo:
        @achieves_goal("done")
        @action
        def echo(self, topic: UserInput) -> str:
            return topic.content

    platform = Platform(ScriptedModel(), on_event=traces.listener()).register(Echo())
    await platform.start("Echo", "x")
    await platform.find_agent("Echo").run("x", context=platform.context())

    runs = measured(traces, "gen_ai.invoke_agent.duration", "gen_ai.agent.name", "error.type")
    assert {name: count for name, (count, _) in runs.items()} == {("Echo", None): 2}
    ((decisions, _),) = measured(traces, "tactician.plan.duration").values()
    assert decisions == 4


def test_queues_retries_fallbacks_and_circuits_are_measured(traces: Traces) -> None:
    listener = traces.listener()
    for event in (
        RequestDelayed(model="m", instance="a", seconds=2.0, reason="limits"),
        RequestDelayed(model="m", instance="a", seconds=0.5, reason="limits"),
        RequestRetried(model="m", instance="a", attempt=1, error="server", delay=0.0, next_instance="b"),
        ModelFellBack(model="m", fallback="n", reason="server"),
        CircuitOpened(model="m", instance="a", seconds=30.0, error="server"),
        CircuitOpened(model="m", instance="b", seconds=30.0, error="server"),
        CircuitOpened(model="m", instance="a", seconds=60.0, error="server"),  # its trial call failed
        CircuitClosed(model="m", instance="b"),
    ):
        listener(event)

    labels = ("gen_ai.request.model", "tactician.instance", "tactician.reason")
    assert measured(traces, "tactician.router.queue.duration", *labels) == {("m", "a", "limits"): (2, 2.5)}
    assert counted(traces, "tactician.router.retries", "tactician.instance", "error.type") == {("a", "server"): 1}
    assert counted(traces, "tactician.router.fallbacks", "gen_ai.request.model") == {("m",): 1}
    assert counted(traces, "tactician.router.circuits.open", "tactician.instance") == {("a",): 1, ("b",): 0}
    listener(CircuitClosed(model="m", instance="a"))
    assert counted(traces, "tactician.router.circuits.open", "tactician.instance") == {("a",): 0, ("b",): 0}
