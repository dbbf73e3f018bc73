"""`@component`: classes contribute actions, goals and conditions to one platform-wide agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    Blackboard,
    Planner,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    component,
    condition,
    cost,
    planned_agent,
    state,
)
from tactician.agents import combine_specs
from tactician.agents.planned.components import is_component
from tactician.errors import DeclarationError
from tactician.process import AgentProcess
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.testing import ScriptedModel
from tests.agents.running import steps


@dataclass(frozen=True)
class Issue:
    title: str


@dataclass(frozen=True)
class Label:
    text: str


@dataclass(frozen=True)
class Answer:
    text: str


@component
class Labels:
    def __init__(self, label: str) -> None:
        self.label = label

    @action(value=0.5)
    def choose(self, issue: Issue) -> Label:
        return Label(self.label)

    @condition
    def urgent(self, label: Label) -> bool:
        return label.text == "bug"

    @action(pre=["urgent"], post=["told"], value=0.9)
    def tell(self, label: Label) -> None: ...


@component
class Answers:
    @cost
    def effort(self, issue: Issue | None) -> float:
        return 0.1 if issue is None else len(issue.title) / 100

    @action(pre=["told"], cost_method="effort", value=0.4)
    def choose(self, issue: Issue) -> Answer:
        return Answer(f"We work on {issue.title}")


async def ran(spec: PlannedAgentSpec, *objects: object) -> AgentProcess:
    return await AgentProcess(spec, Blackboard(*objects), RunContext.over(ScriptedModel())).run()


async def test_the_actions_of_all_components_are_planned_together() -> None:
    process = await ran(combine_specs([Labels("bug"), Answers()]), Issue("crash"))
    assert steps(process) == ["Labels.choose", "Labels.tell", "Answers.choose"]
    assert process.last(Answer) == Answer("We work on crash")
    assert process.status is ProcessStatus.STUCK


async def test_each_action_is_a_method_of_its_own_instance() -> None:
    assert (await ran(combine_specs([Labels("idea"), Answers()]), Issue("crash"))).last(Label) == Label("idea")


async def test_planned_agents_take_part_too() -> None:
    @planned_agent(description="answers")
    class Desk:
        @achieves_goal("answered")
        @action
        def answer(self, answer: Answer) -> str:
            return answer.text

    spec = combine_specs([Labels("bug"), Desk(), Answers()], name="All", planner=Planner.GOAP)
    process = await ran(spec, Issue("crash"))
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == "We work on crash"
    assert process.goal is not None
    assert (spec.name, process.goal.name) == ("All", "Desk.answer")


async def test_states_of_components_are_found() -> None:
    @state
    @dataclass(frozen=True)
    class Open:
        title: str

        @achieves_goal("closed")
        @action
        def close(self) -> Answer:
            return Answer(self.title)

    @component
    class Opening:
        @action
        def open(self, issue: Issue) -> Open:
            return Open(issue.title)

    process = await ran(combine_specs([Opening()]), Issue("crash"))
    assert steps(process) == ["Opening.open", "Open.close"]
    assert process.result == Answer("crash")


async def test_types_of_one_name_are_told_apart_across_components() -> None:
    def one() -> type:
        @dataclass(frozen=True)
        class Thing:
            pass

        return Thing

    first, second = one(), one()

    def build(name: str, taken: type, given: type) -> object:
        def make(self: object, thing: object) -> object:
            return given()

        make.__annotations__.update({"thing": taken, "return": given})
        return component(type(name, (), {"make": action(make)}))()

    spec = combine_specs([build("A", UserInput, first), build("B", first, second)])
    assert steps(await ran(spec, UserInput("go"))) == ["A.make", "B.make"]


def test_a_component_is_recognised() -> None:
    assert is_component(Answers())
    assert not is_component(Issue("x"))


async def test_a_component_can_have_resolvers() -> None:
    @component(resolvers={Label: lambda context: Label(context.process.name)})
    class Resolving:
        @action
        def name(self, issue: Issue, label: Label) -> Answer:
            return Answer(label.text)

    assert (await ran(combine_specs([Resolving()]), Issue("x"))).last(Answer) == Answer("Platform")


def test_mistakes_are_told_with_the_class() -> None:
    @component
    class Wrong:
        @action(pre=["nothing"])
        def go(self, issue: Issue) -> None: ...

    with pytest.raises(DeclarationError) as caught:
        combine_specs([Wrong(), Answers()])
    assert caught.value.subject == "Wrong, Answers"
    assert caught.value.problems[0].startswith("Wrong.go: no condition 'nothing'; ")


@pytest.mark.parametrize("instance", [Issue("x"), "text"])
def test_other_objects_are_no_components(instance: object) -> None:
    with pytest.raises(DeclarationError, match="decorate the class with @component"):
        combine_specs([instance])


def test_the_decorator_keeps_the_class() -> None:
    decorate: Callable[[type], type] = component(resolvers={})
    assert decorate(Issue) is Issue


async def test_each_that_can_is_asked_when_nothing_can_be_done() -> None:
    asked: list[str] = []

    @component
    class Hopeless(Labels):
        def handle_stuck(self, process: AgentProcess) -> bool:
            asked.append("hopeless")
            return False

    @component
    class Helpful(Answers):
        async def handle_stuck(self, process: AgentProcess) -> bool:
            asked.append("helpful")
            if process.last(Issue) is None:
                process.blackboard.add(Issue("found"))
                return True
            return False

    process = await ran(combine_specs([Hopeless("bug"), Helpful()]))
    assert process.last(Answer) == Answer("We work on found")
    assert asked == ["hopeless", "helpful"] * 2


def test_components_of_one_class_name_are_told_apart() -> None:
    def kitchen(place: str) -> object:
        @component
        class Kitchen:
            @action(value=0.5)
            def choose(self, issue: Issue) -> Label:
                return Label(place)

        Kitchen.__qualname__ = f"{place}.Kitchen"
        return Kitchen()

    names = {one.name for one in combine_specs([kitchen("north"), kitchen("south")]).actions}

    assert names == {f"{__name__}.{place}.Kitchen.choose" for place in ("north", "south")}


def test_the_same_component_twice_is_a_mistake() -> None:
    with pytest.raises(DeclarationError, match=r"Labels\.choose: 2 actions have this name"):
        combine_specs([Labels("bug"), Labels("feature")])
