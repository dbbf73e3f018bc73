"""Any constellation, for hypothesis: agents with all that they can have, in constellations of constellations."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tactician import (
    Agent,
    AgentNetwork,
    Autonomous,
    Department,
    HierarchicalAgents,
    LlmOptions,
    ParallelAgents,
    PlannedAgent,
    RouterAgent,
    SupervisorAgent,
    guardrails,
    handoff,
    runnable,
)
from tactician.agents import BaseRunnable
from tactician.conversation import CompactToolResults, SlidingWindow, Summarization, WindowStrategy
from tactician.llm import LanguageModel, Responder, RetrySettings, TraceMetadata
from tactician.text import snake_case
from tactician.tools import require_declared_tools
from tactician.tools.toolbox import ToolLike
from tests.blueprint import acme

ALLOW = ("tests.blueprint.acme",)
HOSTS = ("models.example", "localhost", "acme.example", "acme.openai.azure.com", "127.0.0.1")
KEYS = {"OPENROUTER_API_KEY": "key-one", "ANTHROPIC_API_KEY": "key-two", "ACME_KEY": "key-three"}
AnyRunnable = BaseRunnable[object]

texts = st.text(max_size=40) | st.sampled_from(
    ["${HOME}", "$${", "yes", "1e5", "- a\n- b", "null", "2026-01-01", " x "]
)
labels = st.text("abcdefgh XYZ", min_size=1, max_size=12).filter(str.strip)
numbers = st.integers(1, 10_000)
names = st.builds("{} {}".format, labels, st.integers(0, 10**9))
traces = st.none() | st.builds(
    TraceMetadata,
    trace_id=st.none() | texts,
    environment=st.none() | st.just("test"),
    metadata=st.dictionaries(labels, texts | st.none() | st.integers(), max_size=2),
)
retries = st.builds(
    RetrySettings,
    max_retries=st.integers(0, 9),
    initial_delay_ms=st.integers(0, 500),
    max_delay_ms=st.integers(500, 9_000),
    multiplier=st.floats(1, 9),
    retryable_status_codes=st.lists(st.integers(400, 599), max_size=3).map(tuple),
)
responders = st.one_of(
    st.builds(
        Responder,
        provider=st.sampled_from(["OPEN_ROUTER", "ANTHROPIC"]),
        retry=st.none() | retries,
        trace=traces,
    ),
    st.builds(
        Responder,
        base_url=st.sampled_from(["https://models.example/v1", "http://localhost:8080"]),
        api_key_env=st.none() | st.just("ACME_KEY"),
        api_format=st.sampled_from([None, "openai-chat", "anthropic-messages"]),
    ),
)
options = st.builds(
    LlmOptions,
    model=st.sampled_from(["gpt-5.4", "role:writer", "anthropic:claude-sonnet-4-7", "local"]),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    max_tokens=st.none() | numbers,
    reasoning_effort=st.sampled_from([None, "low"]),
    fallbacks=st.sampled_from([(), ("a", "b")]),
)
sliding = st.builds(SlidingWindow, numbers, st.booleans(), st.sampled_from([None, acme.CountsWords()]))
summaries = st.builds(Summarization, numbers, st.integers(1, 9), st.none() | labels, st.none() | texts)
strategies: st.SearchStrategy[WindowStrategy] = sliding | summaries | st.builds(CompactToolResults, st.integers(0, 9))
contexts = st.none() | strategies | st.builds(lambda a, b: a | b, strategies, strategies)
autonomy = st.none() | st.builds(
    Autonomous,
    max_iterations=st.none() | numbers,
    end_turn_on_plain_reply=st.booleans(),
    enabled_tool_groups=st.none() | st.just(frozenset({"fs", "web"})),
    compact_after=st.none() | st.integers(0, 9),
    min_iteration_interval=st.none() | st.floats(0.1, 9),
)
tools: st.SearchStrategy[list[ToolLike]] = st.lists(
    st.sampled_from([acme.look_up, acme.plain, acme.Echo()]), unique_by=id
).flatmap(
    lambda some: st.sampled_from([some, [*some, *require_declared_tools(acme.Shelf())], [*some, acme.Shelf().titles]])
)
types: st.SearchStrategy[Any] = st.sampled_from(
    [None, acme.Order, int, list[acme.Order], acme.Page[acme.Order], acme.Order | acme.Invoice]
)


@st.composite
def models(draw: st.DrawFn) -> str | LlmOptions | LanguageModel | None:
    if draw(st.booleans()):
        return draw(responders).create_model("acme/gpt", draw(options.map(without_model)), KEYS)
    return draw(st.none() | st.sampled_from(["gpt-5.4", "openai:gpt-5.4"]) | options)


def without_model(one: LlmOptions) -> LlmOptions:
    return LlmOptions(temperature=one.temperature, top_p=one.top_p, max_tokens=one.max_tokens)


@st.composite
def agents(draw: st.DrawFn, targets: Sequence[AnyRunnable] = ()) -> Agent[object]:
    name = draw(names)
    agent: Agent[Any] = Agent(
        name,
        model=draw(models()),
        instructions=draw(texts),
        tools=[*draw(tools), *(one.as_tool(f"ask_{n}", draw(texts)) for n, one in enumerate(targets[1:]))],
        handoffs=[
            handoff(one, f"go_{n}", draw(texts), propagated_output_type=draw(types))
            for n, one in enumerate(targets[:1])
        ],
        output_type=draw(types),
        description=draw(st.none() | texts),
        id=draw(st.none() | labels),
        input_guardrails=draw(st.sampled_from([[], [acme.short], [acme.no_shouting, guardrails.input("acme_short")]])),
        output_guardrails=draw(st.sampled_from([[], [acme.Polite], [acme.Polite()]])),
        tool_input_guardrails=draw(st.sampled_from([[], [acme.no_zero]])),
        tool_groups=draw(st.sampled_from([(), ("web",)])),
        window=draw(contexts),
        autonomy=draw(autonomy),
        max_turns=draw(numbers),
        max_tool_calls=draw(st.none() | numbers),
        parallel_tools=draw(st.booleans()),
        tool_timeout=draw(st.none() | st.floats(0.1, 9)),
    )
    agent.trace = draw(traces)
    return agent


def leaves() -> st.SearchStrategy[AnyRunnable]:
    planned = st.builds(lambda count: PlannedAgent(acme.Teller(count)), st.integers(1, 9))
    functions = st.sampled_from([acme.upwards, runnable(acme.backwards), runnable(acme.backwards, name="turned")])
    return agents() | planned | functions


@st.composite
def around(draw: st.DrawFn, inner: Sequence[AnyRunnable]) -> AnyRunnable:
    """A constellation that has all these Runnables in it."""
    inner = list({snake_case(one.name): one for one in inner}.values())
    known = {one.name for one in inner}
    name, other = draw(names), draw(agents().filter(lambda one: one.name not in known))  # never the same twice
    several = [*inner, other]
    named = {f"{n} {draw(labels)}": one for n, one in enumerate(inner)}
    kind = draw(st.sampled_from(["agent", "router", "supervisor", "network", "parallel", "first", "hierarchy"]))
    made: AnyRunnable
    match kind:
        case "agent":
            return draw(agents(inner))
        case "router":
            last = draw(st.sampled_from([None, other]))
            made = RouterAgent(name, model=draw(models()), routes=named, fallback=last, instructions=draw(texts))
        case "supervisor":
            made = SupervisorAgent(name, model=draw(models()), workers=named, instructions=draw(texts))
        case "network":
            made = AgentNetwork(name, several, max_rounds=draw(st.integers(1, 5)), concurrent=draw(st.booleans()))
        case "parallel":
            group = ParallelAgents(name, several, description=draw(st.none() | labels))
            made = draw(st.sampled_from([group, group.as_synthesis(draw(agents()))]))
        case "first":
            made = ParallelAgents(name, several).as_first_of()
        case _:
            departments = {draw(labels): Department(draw(agents()), inner)}
            made = HierarchicalAgents(executive=draw(agents()), departments=departments, max_turns=draw(numbers))
    made.trace = draw(traces)
    return made


@st.composite
def constellations(draw: st.DrawFn, depth: int = 20) -> AnyRunnable:
    """A few levels deep, or as many as this; wide at its top only, so that it stays small."""
    made = draw(leaves())
    for level in range(draw(st.integers(0, 4) | st.just(depth))):
        others = draw(st.lists(leaves(), max_size=2 if level > depth - 4 else 1))
        made = draw(around([made, *others]))
    return made
