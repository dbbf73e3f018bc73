"""Which spans there are, what they are in, and what they say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from tactician import (
    Agent,
    Ai,
    Budget,
    LlmOptions,
    Platform,
    ProcessOptions,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
)
from tactician.errors import ModelServerError
from tactician.llm import Deployment, EmbeddingModel, Image, ModelRouter, Text, Usage, UserMessage
from tactician.llm.embeddings.model import EmbeddingOptions, Embeddings
from tactician.planning import PlanningBudget
from tactician.process import ProcessStatus
from tactician.runs import report_retrieval
from tactician.testing import ScriptedModel, ToolCall
from tests.integrations.otel.traces import Traces, attributes
from tests.process.hard_agents import build_gatherer


@pytest.fixture
def traces() -> Traces:
    return Traces()


def over(model: ScriptedModel, traces: Traces, *, content: bool = False) -> RunContext:
    return RunContext.over(model, traces.listener(content=content))


def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


async def test_turns_tools_and_agents_inside_are_children(traces: Traces) -> None:
    inner = Agent("Scout", model=ScriptedModel("seen"))
    calls = [ToolCall("weather", city="Rome"), ToolCall("scout", request="go")]
    model = ScriptedModel(calls, "done", name="openai:gpt-5.4")

    await Agent("Host", model=model, tools=[weather, inner.as_tool()]).run("hi", context=over(model, traces))

    inside = ["chat gpt-5.4", "execute_tool weather", "execute_tool scout"]
    assert traces.tree() == [
        "invoke_agent Host",
        [*inside, ["invoke_agent Scout", ["chat scripted"]], "chat gpt-5.4"],
    ]
    assert len(traces.trace_ids) == 1
    assert traces.still_open == 0
    kinds = {span.name.split()[0]: span.kind for span in traces.spans}
    assert kinds == {"invoke_agent": SpanKind.INTERNAL, "chat": SpanKind.CLIENT, "execute_tool": SpanKind.INTERNAL}


async def test_spans_say_what_the_conventions_want(traces: Traces) -> None:
    model = ScriptedModel(ToolCall("weather", city="Rome"), "done", name="mistral:large")
    options = LlmOptions(temperature=0.5, max_tokens=9)
    agent = Agent("Host", model=model, tools=[weather])
    await agent.with_changes(options=options).run("hi", context=over(model, traces))

    run, chat = attributes(traces.only("invoke_agent Host")), attributes(traces.named("chat large")[0])
    assert run["gen_ai.operation.name"] == "invoke_agent"
    assert run["gen_ai.agent.name"] == "Host"
    assert (run["gen_ai.usage.input_tokens"], run["gen_ai.usage.output_tokens"]) == (20, 10)
    assert (run["tactician.run.path"], run["tactician.run.status"]) == ("Host", "completed")
    assert chat["gen_ai.operation.name"] == "chat"
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("mistral_ai", "large")
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (10, 5)
    assert chat["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert chat["gen_ai.output.type"] == "text"
    tool = attributes(traces.only("execute_tool weather"))
    assert (tool["gen_ai.operation.name"], tool["gen_ai.tool.name"]) == ("execute_tool", "weather")
    assert tool["gen_ai.tool.type"] == "function"
    assert tool["gen_ai.tool.call.id"]


@dataclass(frozen=True)
class Draft:
    text: str


@planned_agent(description="writes", name="Writer")
class Writer:
    @condition
    async def is_easy(self, topic: UserInput, ai: Ai) -> bool:
        return "easy" in await ai.generate_text("Is it easy?")

    @action(pre=["is_easy"])
    async def draft(self, topic: UserInput, ai: Ai) -> Draft:
        texts = await asyncio.gather(ai.generate_text("one"), ai.generate_text("two"))
        return Draft(" ".join(texts))

    @achieves_goal("published")
    @action
    async def publish(self, draft: Draft) -> str:
        return (await Agent("Printer", model=ScriptedModel("printed")).run(draft.text)).output


WRITTEN = [
    "invoke_agent Writer",
    [
        *("plan Writer", ["chat scripted"]),
        *("action draft", ["chat scripted", "chat scripted"]),
        "plan Writer",
        *("action publish", ["invoke_agent Printer", ["chat scripted"]]),
        "plan Writer",
    ],
]


async def test_plans_and_actions_are_children_of_the_process(traces: Traces) -> None:
    platform = Platform(ScriptedModel("easy", "a", "b"), on_event=traces.listener())

    process = await platform.start(Writer(), "frogs")

    assert process.status is ProcessStatus.COMPLETED
    assert traces.tree() == WRITTEN
    assert traces.still_open == 0
    plan = attributes(traces.named("plan Writer")[0])
    assert (plan["gen_ai.operation.name"], plan["gen_ai.agent.name"]) == ("plan", "Writer")
    assert (plan["tactician.plan.goal"], plan["tactician.plan.actions"]) == ("publish", ("draft", "publish"))
    assert (plan["tactician.plan.optimal"], plan["tactician.plan.bound"], plan["tactician.plan.gap"]) == (
        True,
        0.0,
        0.0,
    )
    run = attributes(traces.only("invoke_agent Writer"))
    assert (run["tactician.run.id"], run["tactician.goals"]) == (process.id, ("publish",))


async def test_a_plan_that_may_be_too_dear_says_by_how_much(traces: Traces) -> None:
    planning = PlanningBudget(time=None, expansions=45)
    platform = Platform(ScriptedModel(), on_event=traces.listener())

    await platform.start(build_gatherer(planning=planning), "x", options=ProcessOptions(budget=Budget(actions=1)))

    plan = attributes(traces.named("plan Gatherer")[0])
    assert plan["tactician.plan.optimal"] is False
    cost, bound, gap = (plan[f"tactician.plan.{name}"] for name in ("cost", "bound", "gap"))
    assert isinstance(cost, float)
    assert isinstance(bound, float)
    assert gap == pytest.approx(cost / bound - 1)


async def test_a_process_that_a_runnable_runs_has_one_span(traces: Traces) -> None:
    platform = Platform(ScriptedModel("easy", "a", "b"), on_event=traces.listener())
    agent = platform.register(Writer()).find_agent("Writer")

    await agent.run("frogs", context=platform.context())

    assert traces.tree() == WRITTEN
    assert attributes(traces.only("invoke_agent Writer"))["tactician.goals"] == ("publish",)


async def test_steps_that_several_tasks_make_are_one_trace_and_what_is_between_them_is_not(traces: Traces) -> None:
    platform = Platform(ScriptedModel("easy", "a", "b"), on_event=traces.listener())
    agent = platform.register(Writer()).find_agent("Writer")
    process = agent.create_process(UserInput("frogs"), context=platform.context())  # type: ignore[attr-defined]

    while process.status in (ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING):
        await asyncio.create_task(process.tick())
        assert not trace.get_current_span().get_span_context().is_valid

    assert traces.tree() == WRITTEN


async def test_runs_at_the_same_time_do_not_mix(traces: Traces) -> None:
    listener = traces.listener()

    async def wait(number: int) -> str:
        """Wait."""
        for _ in range(number % 5):
            await asyncio.sleep(0)
        return str(number)

    async def run(number: int) -> None:
        inner = Agent(f"Inner{number}", model=ScriptedModel(ToolCall("wait", number=number), "x"), tools=[wait])
        calls = [ToolCall(f"inner{number}", request="r"), ToolCall("wait", number=number + 1)]
        model = ScriptedModel(calls, "done")
        outer = Agent(f"Outer{number}", model=model, tools=[inner.as_tool(), wait])
        await outer.run("hi", context=RunContext.over(model, listener))

    await asyncio.gather(*map(run, range(30)))

    assert len(traces.trace_ids) == 30
    for outer in traces.children(None):
        number = outer.name.removeprefix("invoke_agent Outer")
        inside = [f"invoke_agent Inner{number}", ["chat scripted", "execute_tool wait", "chat scripted"]]
        tools = [f"execute_tool inner{number}", inside, "execute_tool wait"]
        assert traces.tree(outer) == ["chat scripted", *tools, "chat scripted"]
    assert traces.still_open == 0


async def test_errors_set_the_status_but_say_nothing_of_the_content(traces: Traces) -> None:
    def fail() -> str:
        """Fail."""
        raise ValueError("the password is hunter2")

    model = ScriptedModel(ToolCall("fail"), ModelServerError("hunter2 was refused"))
    with pytest.raises(ModelServerError):
        await Agent("Host", model=model, tools=[fail]).run("hi", context=over(model, traces))

    run, tool, chat = (
        traces.only("invoke_agent Host"),
        traces.only("execute_tool fail"),
        traces.named("chat scripted")[1],
    )
    assert [span.status.status_code for span in (run, tool, chat)] == [StatusCode.ERROR] * 3
    kinds = [attributes(span)["error.type"] for span in (run, tool, chat)]
    assert kinds == ["ModelServerError", "tool_error", "ModelServerError"]
    assert traces.named("chat scripted")[0].status.status_code is StatusCode.UNSET
    assert "hunter2" not in traces.texts()
    assert traces.still_open == 0
    assert not trace.get_current_span().get_span_context().is_valid


async def test_an_action_that_fails_sets_the_status_of_its_process(traces: Traces) -> None:
    @planned_agent(description="fails", name="Failing")
    class Failing:
        @achieves_goal("never")
        @action
        def fail(self, topic: UserInput) -> str:
            raise LookupError("hunter2")

    await Platform(ScriptedModel(), on_event=traces.listener()).start(Failing(), "x")

    run, failed = traces.only("invoke_agent Failing"), traces.only("action fail")
    assert [attributes(span)["error.type"] for span in (run, failed)] == ["failed", "LookupError"]
    assert [span.status.status_code for span in (run, failed)] == [StatusCode.ERROR] * 2
    assert "hunter2" not in traces.texts()


SAID = UserMessage((Text("secret question"), Image(url="https://user:pw@pics.example/cat.png?signature=s3cr3t")))


async def ask_with_content(traces: Traces, *, content: bool) -> None:
    model = ScriptedModel(ToolCall("weather", city="secret city"), "secret answer")
    agent = Agent("Host", model=model, instructions="secret instructions", tools=[weather])
    await agent.run(SAID, context=over(model, traces, content=content))


async def test_content_is_not_recorded(traces: Traces) -> None:
    await ask_with_content(traces, content=False)

    assert len(traces.spans) == 4
    assert "secret" not in traces.texts()


async def test_content_is_recorded_for_those_who_want_it_but_no_secrets_of_addresses(traces: Traces) -> None:
    await ask_with_content(traces, content=True)

    first, last = (attributes(span) for span in traces.named("chat scripted"))
    asked = json.loads(str(first["gen_ai.input.messages"]))
    assert asked[0]["role"] == "user"
    assert asked[0]["parts"][0] == {"type": "text", "content": "secret question"}
    assert asked[0]["parts"][1]["uri"] == "https://pics.example/cat.png"
    assert json.loads(str(first["gen_ai.system_instructions"])) == [{"type": "text", "content": "secret instructions"}]
    (called,) = json.loads(str(first["gen_ai.output.messages"]))
    assert called["finish_reason"] == "tool_calls"
    assert called["parts"][0]["arguments"] == {"city": "secret city"}
    assert json.loads(str(last["gen_ai.output.messages"]))[0]["parts"] == [{"type": "text", "content": "secret answer"}]
    tool = attributes(traces.only("execute_tool weather"))
    assert json.loads(str(tool["gen_ai.tool.call.arguments"])) == {"city": "secret city"}
    assert tool["gen_ai.tool.call.result"] == "rain in secret city"
    assert "s3cr3t" not in traces.texts()
    assert ":pw@" not in traces.texts()


async def test_spans_of_others_are_children_and_parents(traces: Traces) -> None:
    tracer = traces.tracers.get_tracer("other")

    def look() -> str:
        """Look."""
        with tracer.start_as_current_span("their query"):
            return "seen"

    model = ScriptedModel(ToolCall("look"), "done")
    with tracer.start_as_current_span("their request") as theirs:
        await Agent("Host", model=model, tools=[look]).run("hi", context=over(model, traces))
        assert trace.get_current_span() is theirs

    inside = ["chat scripted", "execute_tool look", ["their query"], "chat scripted"]
    assert traces.tree() == ["their request", ["invoke_agent Host", inside]]


async def test_a_run_that_is_cancelled_leaves_no_open_spans(traces: Traces) -> None:
    async def hang() -> str:
        """Hang."""
        started.set()
        await asyncio.Event().wait()
        return ""

    started, model = asyncio.Event(), ScriptedModel([ToolCall("hang"), ToolCall("hang")])
    task = asyncio.create_task(Agent("Host", model=model, tools=[hang]).run("hi", context=over(model, traces)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert traces.still_open == 0
    assert attributes(traces.only("invoke_agent Host"))["error.type"] == "CancelledError"


class Numbers(EmbeddingModel):
    @property
    def name(self) -> str:
        return "openai:numbers"

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = EmbeddingOptions()) -> Embeddings:  # noqa: B008
        vectors = tuple((float(len(text)),) for text in texts)
        return Embeddings(vectors, self.name, Usage(len(texts), 0, requests=1, model=self.name))


async def test_embeddings_and_searches_are_spans(traces: Traces) -> None:
    async def search(query: str) -> list[str]:
        return [query, "b"]

    @planned_agent(description="searches", name="Searcher")
    class Searcher:
        @achieves_goal("found")
        @action
        async def find(self, topic: UserInput, ai: Ai) -> str:
            await ai.embed(topic.content)
            found = await report_retrieval(search(topic.content), "handbook", topic.content, limit=5)
            return found[0]

    router = ModelRouter([Deployment("openai", "numbers", Numbers())])
    process = await Platform(router, on_event=traces.listener()).start(Searcher(), "frogs")

    assert process.result == "frogs"
    assert traces.tree(traces.only("action find")) == ["embeddings numbers", "retrieval handbook"]
    embedded, retrieved = attributes(traces.only("embeddings numbers")), attributes(traces.only("retrieval handbook"))
    assert (embedded["gen_ai.operation.name"], embedded["gen_ai.provider.name"]) == ("embeddings", "openai")
    assert embedded["gen_ai.usage.input_tokens"] == 1
    assert (retrieved["gen_ai.data_source.id"], retrieved["gen_ai.retrieval.top_k"]) == ("handbook", 5)
    assert retrieved["tactician.retrieval.documents"] == 2
    assert "frogs" not in traces.texts()


async def test_what_a_router_does_is_in_the_span_of_the_request(traces: Traces) -> None:
    router = ModelRouter(
        [Deployment("down", "m", ScriptedModel(ModelServerError("x"))), Deployment("up", "m", ScriptedModel("ok"))]
    )
    await Agent("Host", model="m").run("hi", context=RunContext.over(router, traces.listener()))

    chat = traces.only("chat m")
    assert [event.name for event in chat.events] == ["tactician.request_retried"]
    retried = dict(chat.events[0].attributes or {})
    assert (retried["tactician.instance"], retried["tactician.next_instance"]) == ("down", "up")
    assert retried["tactician.error"] == "server"
    assert attributes(chat)["tactician.instance"] == "up"


async def test_a_stream_says_when_its_first_piece_came(traces: Traces) -> None:
    model = ScriptedModel("one two three")
    async for _ in Agent("Host", model=model).stream("hi", context=over(model, traces)):
        pass

    seconds = attributes(traces.only("chat scripted"))["gen_ai.response.time_to_first_chunk"]
    assert isinstance(seconds, float)
    (point,) = traces.points("gen_ai.client.operation.time_to_first_chunk")
    assert getattr(point, "count", 0) == 1
