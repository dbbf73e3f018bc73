"""An instance of a planned agent's class is a Runnable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest

from tactician import (
    Agent,
    Ai,
    AssistantMessage,
    PlannedAgent,
    Platform,
    ProcessOptions,
    RunContext,
    Runnable,
    UserInput,
    UserMessage,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.agents import BaseRunnable
from tactician.llm import Text
from tactician.process import (
    ActionCompleted,
    ActionStarted,
    PlanMade,
    PlanningEnded,
    PlanningStarted,
    ProcessEnded,
    ProcessStarted,
    ProcessStuckError,
)
from tactician.runs import Budget, RunCompleted, RunEnded, RunStarted, RunStatus
from tactician.testing import ScriptedModel, ToolCall


@dataclass(frozen=True)
class Joke:
    text: str


@planned_agent(description="tells jokes")
class Comedian:
    @achieves_goal("a joke")
    @action
    async def tell(self, topic: UserInput, ai: Ai) -> Joke:
        return await ai.create(Joke, topic.content)


class Point(NamedTuple):
    x: int
    y: int


@planned_agent(description="takes a point and a name")
class Plotter:
    @achieves_goal("plotted")
    @action
    def plot(self, point: Point, name: UserInput | None) -> str:
        return f"{point} {name.content if name else ''}"


def runnable_of(instance: object) -> Runnable:
    """The instance, which mypy does not know to be a Runnable: the decorator adds the methods."""
    assert isinstance(instance, Runnable)
    return instance


def base_of(instance: object) -> BaseRunnable[object]:
    """The instance with all methods that the decorator adds."""
    assert not isinstance(instance, BaseRunnable)
    return instance  # type: ignore[return-value]  # by duck typing


async def test_an_instance_runs_like_any_runnable() -> None:
    agent = runnable_of(Comedian())
    model = ScriptedModel(Joke("knock"))
    result = await agent.run("frogs", context=RunContext.over(model))
    assert (agent.name, agent.description) == ("Comedian", "tells jokes")
    assert result.output == Joke("knock")
    assert result.status is RunStatus.COMPLETED
    assert result.usage.total_tokens == 15
    assert result.process_id is not None


async def test_a_planned_agent_is_the_same_with_types() -> None:
    agent = PlannedAgent(Comedian())
    assert isinstance(agent, Runnable)
    result = await agent.run(UserInput("frogs"), context=RunContext.over(ScriptedModel(Joke("knock"))))
    assert result.output == Joke("knock")
    assert repr(agent) == "PlannedAgent('Comedian')"


@pytest.mark.parametrize(
    "input",
    [
        "frogs",
        UserInput("frogs"),
        UserMessage("frogs"),
        [UserMessage("toads?"), AssistantMessage((Text("no"),)), UserMessage("frogs")],
        (UserMessage("toads?"), UserMessage("frogs")),
    ],
)
async def test_text_and_messages_become_user_input(input: object) -> None:
    model = ScriptedModel(Joke("knock"))
    await PlannedAgent(Comedian()).run(input, context=RunContext.over(model))
    assert model.calls[0].prompt.endswith("frogs")


async def test_a_tuple_is_several_objects_and_a_named_tuple_is_one() -> None:
    agent, context = PlannedAgent(Plotter()), RunContext.over(ScriptedModel())
    assert (await agent.run((Point(1, 2), "here"), context=context)).output == "Point(x=1, y=2) here"
    assert (await agent.run(Point(1, 2), context=context)).output == "Point(x=1, y=2) "


async def test_a_run_that_is_stuck_raises() -> None:
    with pytest.raises(
        ProcessStuckError, match="Plotter is stuck: No plan reaches 'plot': 'Point' is missing"
    ) as caught:
        await PlannedAgent(Plotter()).run("nowhere", context=RunContext.over(ScriptedModel()))
    assert caught.value.process.history == ()


async def test_a_run_takes_options() -> None:
    agent, options = PlannedAgent(Comedian()), ProcessOptions(budget=Budget(actions=0))
    with pytest.raises(Exception, match="Comedian was terminated: the budget of 0 actions is used up"):
        await agent.run("frogs", context=RunContext.over(ScriptedModel()), options=options)


def test_it_runs_without_an_event_loop() -> None:
    # Nothing here asks a model, so the default models are not looked at.
    assert base_of(Plotter()).run_sync(Point(0, 0)).output == "Point(x=0, y=0) "
    assert PlannedAgent(Plotter()).run_sync(Point(0, 0)).output == "Point(x=0, y=0) "


async def test_run_sync_inside_an_event_loop_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="await the method without `_sync`"):
        base_of(Plotter()).run_sync(Point(0, 0))


async def test_a_stream_tells_what_happens_and_ends_with_the_result() -> None:
    context = RunContext.over(ScriptedModel(Joke("knock")))
    events = [event async for event in base_of(Comedian()).stream("frogs", context=context)]
    kinds = [type(event) for event in events]
    assert kinds[:6] == [RunStarted, ProcessStarted, PlanningStarted, PlanningEnded, PlanMade, ActionStarted]
    assert kinds[-6:-2] == [ActionCompleted, PlanningStarted, PlanningEnded, ProcessEnded]
    assert kinds[-2:] == [RunEnded, RunCompleted]
    assert isinstance(last := events[-1], RunCompleted)
    assert last.result.output == Joke("knock")
    assert last.run_id == context.run_id


async def test_a_stream_raises_what_the_run_raises() -> None:
    stream = PlannedAgent(Plotter()).stream("nowhere", context=RunContext.over(ScriptedModel()))
    kinds = [type(await anext(stream)) for _ in range(6)]
    with pytest.raises(ProcessStuckError):
        await anext(stream)
    assert kinds == [RunStarted, ProcessStarted, PlanningStarted, PlanningEnded, ProcessEnded, RunEnded]


async def test_leaving_a_stream_early_cancels_the_run() -> None:
    platform = Platform(models=ScriptedModel(Joke("never told")))
    seen: list[object] = []
    context = platform.context().with_listeners(seen.append, streaming=False)
    stream = PlannedAgent(Comedian()).stream("frogs", context=context)
    async for event in stream:
        if isinstance(event, ProcessStarted):
            break
    await stream.aclose()
    assert not any(isinstance(event, RunCompleted) for event in seen)


async def test_it_is_a_tool_for_an_agent() -> None:
    model = ScriptedModel(ToolCall("comedian", request="frogs"), Joke("knock"), "He said knock.")
    host = Agent("Host", model=model, tools=[base_of(Comedian()).as_tool()])
    context = RunContext.over(model)
    result = await host.run("a joke please", context=context)
    assert result.output == "He said knock."
    assert [spec.name for spec in model.calls[0].tools] == ["comedian"]
    assert model.calls[0].tools[0].description == "tells jokes"
    assert model.calls[1].prompt == "frogs"
    assert '{"text":"knock"}' in model.calls[2].prompt
    assert result.usage.requests == context.tally.total.requests == 3


async def test_a_tool_that_is_stuck_tells_the_model_why() -> None:
    model = ScriptedModel(ToolCall("plotter", request="here"), "Sorry.")
    await Agent("Host", model=model, tools=[PlannedAgent(Plotter()).as_tool()]).run("plot")
    assert "'Point' is missing" in model.calls[1].prompt


async def test_a_member_that_the_user_wrote_is_kept() -> None:
    @planned_agent(description="has a run of its own")
    class Runner:
        @achieves_goal("ran")
        @action
        def run(self, topic: UserInput) -> str:
            return f"ran {topic.content}"

    context = RunContext.over(ScriptedModel())
    assert Runner().run(UserInput("home")) == "ran home"
    assert (await PlannedAgent(Runner()).run("far", context=context)).output == "ran far"
    assert (await Platform(models=ScriptedModel()).start(Runner(), "far")).result == "ran far"
    last = [event async for event in base_of(Runner()).stream("far", context=context)][-1]
    assert isinstance(last, RunCompleted)
    assert last.result.output == "ran far"
    assert await base_of(Runner()).as_tool().call('{"request": "far"}', context) == "ran far"


async def test_the_default_models_are_not_needed_without_a_model_call() -> None:
    assert (await runnable_of(Plotter()).run(Point(0, 0))).output == "Point(x=0, y=0) "
