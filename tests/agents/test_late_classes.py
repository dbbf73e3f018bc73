"""Classes that are loaded after an agent was used for the first time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tactician import (
    Autonomy,
    Planner,
    Platform,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    component,
    planned_agent,
    state,
)
from tactician.agents import PlannedAgent, combine_specs
from tactician.errors import AgentNotFoundError, DeclarationError
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps


@dataclass
class Outcome:
    text: str


@dataclass
class Other:
    text: str


def base_state() -> type:
    """A state of its own for each test, with one subclass that is there from the beginning."""

    @state
    class Stage: ...

    class Early(Stage):
        @achieves_goal("gave up", value=-1)
        @action
        def give_up(self) -> Other:
            return Other("gave up")

    Stage.early = Early  # type: ignore[attr-defined]
    return Stage


def done_in(stage: type) -> type:
    """A state with a goal, which is defined now."""

    @dataclass
    class Done(stage):  # type: ignore[misc]
        text: str

        @achieves_goal("done")
        @action
        def finish(self) -> Outcome:
            return Outcome(self.text)

    return Done


def agent_over(stage: type, planner: Planner = Planner.GOAP) -> object:
    """An agent that enters a state that is defined only then."""

    @planned_agent(description="enters a state", planner=planner)
    class Entering:
        @action
        def enter(self, topic: UserInput) -> stage:  # type: ignore[valid-type]
            entered: stage = done_in(stage)(topic.content)  # type: ignore[valid-type]
            return entered

    return Entering()


async def test_a_state_that_an_action_has_defined_is_entered() -> None:
    stage = base_state()
    process = await started(agent_over(stage), "x")
    assert process.result == Outcome("x"), process.failure
    assert steps(process) == ["enter", "Done.finish"]


@pytest.mark.parametrize("planner", [Planner.GOAP, Planner.UTILITY, Planner.HYBRID])
async def test_a_state_that_was_defined_since_is_part_of_the_next_process(planner: Planner) -> None:
    stage = base_state()
    agent = agent_over(stage, planner)
    platform = Platform(ScriptedModel()).register(agent)
    assert (await platform.start("Entering", Other("not of use"))).status is ProcessStatus.STUCK
    done_in(stage)
    process = await platform.start("Entering", "x")
    assert process.result == Outcome("x")
    assert (await platform.invoke(Outcome, "y")) == Outcome("y"), "the goal is found by its type, too"


async def test_its_goals_are_those_of_an_agent_that_aims_at_their_type_only() -> None:
    stage = base_state()
    agent = PlannedAgent(agent_over(stage))
    towards = agent.towards(Other)
    assert towards is not None
    done_in(stage)
    assert [goal.name for goal in agent.spec.goals] == ["Early.give_up", "Done.finish"]
    assert [goal.name for goal in towards.spec.goals] == ["Early.give_up"]
    wanted = agent.towards(Outcome)
    assert wanted is not None
    assert [goal.name for goal in wanted.spec.goals] == ["Done.finish"]


async def test_an_agent_is_read_again_only_when_there_is_something_new() -> None:
    stage = base_state()
    agent = PlannedAgent(agent_over(stage))
    before = agent.spec
    assert agent.spec is before
    late = done_in(stage)
    after = agent.spec
    assert after is not before
    assert agent.spec is after
    assert any(kind is late for kind in after.types.values())


async def test_components_have_late_states_too() -> None:
    stage = base_state()

    @component
    class Entrance:
        @action
        def enter(self, topic: UserInput) -> stage:  # type: ignore[valid-type]
            entered: stage = done_in(stage)(topic.content)  # type: ignore[valid-type]
            return entered

    agent = PlannedAgent.of(combine_specs([Entrance()], planner=Planner.UTILITY))
    assert steps(await started(agent, "x")) == ["Entrance.enter", "Done.finish"]


async def test_an_agent_is_checked_for_late_classes_once_for_a_start() -> None:
    checked: list[str] = []

    def refresh(spec: PlannedAgentSpec) -> PlannedAgentSpec:
        checked.append(spec.name)
        return spec

    @component
    class Writer:
        @achieves_goal("written")
        @action
        def write(self, topic: UserInput) -> Outcome:
            return Outcome(topic.content)

    agent = PlannedAgent.of(replace(combine_specs([Writer()], name="Writer"), refresher=refresh))
    platform = Platform(models=ScriptedModel()).register(agent)
    for start in (platform.invoke(Outcome, "x"), platform.start("Writer", "x"), platform.start(agent, "x")):
        checked.clear()
        await start
        assert checked == ["Writer"]


async def test_a_mistake_in_a_late_state_is_told_when_the_agent_is_used() -> None:
    stage = base_state()
    agent = agent_over(stage)
    assert (await started(agent)).status is ProcessStatus.STUCK

    class Wrong(stage):  # type: ignore[valid-type, misc]
        @action
        def work(self, whatever) -> Outcome:  # type: ignore[no-untyped-def]  # noqa: ANN001
            return Outcome("never")

    with pytest.raises(DeclarationError, match=r"Wrong.work: parameter 'whatever' has no type"):
        await started(agent)


async def test_a_mistake_in_a_state_that_an_action_has_loaded_fails_the_process() -> None:
    stage = base_state()

    @planned_agent(description="loads what is wrong")
    class Loading:
        @action
        def load(self, topic: UserInput) -> stage:  # type: ignore[valid-type]
            class Wrong(stage):  # type: ignore[valid-type, misc]
                @action
                def work(self, whatever) -> Outcome:  # type: ignore[no-untyped-def]  # noqa: ANN001
                    return Outcome("never")

            return Wrong()

    process = await started(Loading(), "x")
    assert process.status is ProcessStatus.FAILED
    assert process.failure is not None
    assert "Wrong.work: parameter 'whatever' has no type" in process.failure


async def test_a_class_that_is_defined_again_replaces_the_older_one() -> None:
    stage = base_state()
    agent = agent_over(stage)
    first = done_in(stage)
    assert {action.name for action in PlannedAgent(agent).spec.actions} == {"enter", "Early.give_up", "Done.finish"}
    second = done_in(stage)
    spec = PlannedAgent(agent).spec
    assert {action.name for action in spec.actions} == {"enter", "Early.give_up", "Done.finish"}
    assert second in spec.types.values()
    assert first not in spec.types.values()


async def test_a_process_that_has_entered_a_late_state_goes_on_elsewhere() -> None:
    stage, store = base_state(), MemoryStore()
    agent = agent_over(stage)
    platform = Platform(ScriptedModel(), store=store).register(agent)
    process = await platform.start("Entering", "x")
    restored = await Platform(ScriptedModel(), store=store).register(agent).process(process.id)
    assert restored.result == Outcome("x")


async def test_nobody_yields_what_no_state_gives() -> None:
    stage = base_state()
    platform = Platform(ScriptedModel()).register(agent_over(stage))
    with pytest.raises(AgentNotFoundError, match="No registered agent yields an Outcome"):
        await platform.invoke(Outcome, "x")


def test_a_state_without_any_class_that_does_something_is_a_mistake_that_says_what_to_do() -> None:
    @state
    class Empty: ...

    @planned_agent(description="enters what is not there")
    class Entering:
        @achieves_goal("never")
        @action
        def finish(self, other: Other) -> Outcome:
            return Outcome(other.text)

        @action
        def enter(self, topic: UserInput) -> Empty:
            return Empty()

    with pytest.raises(DeclarationError, match=r"Empty: nothing .*, or import the modules of its subclasses first"):
        PlannedAgent(Entering())


async def test_a_dataclass_with_slots_is_one_state_though_it_is_made_of_another_class() -> None:
    stage = base_state()

    @dataclass(slots=True)
    class Slotted(stage):  # type: ignore[valid-type, misc]
        text: str

        @achieves_goal("done")
        @action
        def finish(self) -> Outcome:
            return Outcome(self.text)

    @planned_agent(description="enters a state with slots")
    class Entering:
        @action
        def enter(self, topic: UserInput) -> stage:  # type: ignore[valid-type]
            return Slotted(topic.content)

    assert steps(await started(Entering(), "x")) == ["enter", "Slotted.finish"]


async def test_an_agent_that_was_assembled_for_a_goal_keeps_its_goal() -> None:
    stage = base_state()
    early = stage.early  # type: ignore[attr-defined]

    @planned_agent(description="enters a state that leads back")
    class Entering:
        @action
        def enter(self, topic: UserInput) -> stage:  # type: ignore[valid-type]
            @dataclass
            class Late(stage):  # type: ignore[valid-type, misc]
                @action
                def lead_back(self) -> early:  # type: ignore[valid-type]
                    back: early = early()  # type: ignore[valid-type]
                    return back

                @achieves_goal("another one", value=9)
                @action
                def finish(self) -> Outcome:
                    return Outcome("not asked for")

            return Late()

    ranking = [{"name": "Early.give_up", "confidence": 1.0, "reason": "it is asked for"}]
    platform = Platform(ScriptedModel({"value": ranking})).register(Entering())
    result = await Autonomy(platform).run("x", mode="open")
    assert result.output == Other("gave up")
