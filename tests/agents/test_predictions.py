"""What the planner expects of an action comes true: random agents with subclasses, states, triggers and clearing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st

from tactician import OperationContext, PlannedAgent, Planner, SomeOf, achieves_goal, action, planned_agent, state
from tactician.process import AgentProcess
from tactician.process.agent.spec import ActionSpec
from tactician.runs import RunContext
from tactician.testing import ScriptedModel
from tests.support.effort import examples


class Thing:
    pass


class Special(Thing):
    pass


class Other:
    pass


class End:
    pass


@state
class Phase:
    @action
    def rest(self, other: Other | None) -> Thing | None:
        return Thing()


class Second(Phase):
    @action
    def turn(self) -> Phase:
        return Phase()

    @achieves_goal("left")
    @action(cost=0.1)
    def leave(self, thing: Thing) -> End:
        return End()


@state(preserve=True)
class Room:
    @action
    def look(self) -> Other:
        return Other()


class Hall(Room):
    @action(clear_blackboard=True)
    def burn(self, other: Other) -> Thing:
        return Thing()


@dataclass
class Both(SomeOf):
    thing: Thing | None = None
    other: Other | None = None


MADE: dict[type, tuple[Callable[[], object], ...]] = {
    Thing: (Thing, Special),
    Special: (Special,),
    Other: (Other,),
    Phase: (Phase, Second),
    Second: (Second,),
    Room: (Room, Hall),
    Hall: (Hall,),
    Both: (Both, lambda: Both(thing=Special()), lambda: Both(Thing(), Other())),
}
KINDS = list(MADE)


@dataclass(frozen=True)
class Act:
    """An action that returns something of what it declares."""

    needs: Sequence[type]
    gives: Sequence[type]
    made: Callable[[], object]
    can_rerun: bool = False
    clear_blackboard: bool = False
    trigger: type | None = None
    output_binding: str = "it"
    post: Sequence[str] = ()
    pre: Sequence[str] = ()


def agent_of(*acts: Act, planner: Planner = Planner.GOAP) -> object:
    members: dict[str, object] = {"go": achieves_goal("end")(action(_method([Special, Other], [End], End)))}
    for number, act in enumerate(acts):
        members[f"act{number}"] = action(
            can_rerun=act.can_rerun,
            clear_blackboard=act.clear_blackboard,
            trigger=act.trigger,
            output_binding=act.output_binding,
            post=act.post,
            pre=act.pre,
        )(_method(act.needs, act.gives, act.made))
    return planned_agent(description="random", planner=planner)(type("Random", (), members))()


@st.composite
def acts(draw: st.DrawFn) -> Act:
    gives = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True))
    needs = st.lists(st.sampled_from([Thing, Special, Other, Phase, Room]), max_size=2, unique=True)
    return Act(
        draw(needs.filter(lambda kinds: not {Phase, Room} <= {*kinds})),
        gives,
        draw(st.sampled_from([made for kind in gives for made in MADE[kind]])),
        can_rerun=draw(st.booleans()),
        clear_blackboard=draw(st.booleans()),
        trigger=draw(st.sampled_from([None, None, Thing, Other])),
        output_binding=draw(st.sampled_from(["it", "it", "named"])),
        post=draw(st.sampled_from([(), ("told",)])),
        pre=draw(st.sampled_from([(), (), ("expr: thing is not None",)])),
    )


def _method(needs: Sequence[type], gives: Sequence[type], made: Callable[[], object]) -> Callable[..., object]:
    parameters = ", ".join(["self", *(f"p{number}" for number in range(len(needs)))])
    scope: dict[str, object] = {"made": made}
    exec(f"def method({parameters}):\n    return made()", scope)
    method = scope["method"]
    assert callable(method)
    returned: object = gives[0]
    for kind in gives[1:]:
        returned = returned | kind
    method.__annotations__ = {**{f"p{number}": kind for number, kind in enumerate(needs)}, "return": returned}
    return method


async def check(agent: object, objects: list[object]) -> None:
    process = PlannedAgent(agent).create_process(*objects, context=RunContext.over(ScriptedModel()))
    for _ in range(12):
        plan = await process.outlook()
        if plan is None or not plan.actions:
            break
        done = process.agent.action(plan.actions[0].name)
        await process.tick()
        assert process.failure is None
        assert process.history[-1].action == done.name
        compare(await known(process), done)


async def known(process: AgentProcess) -> Mapping[str, object]:
    """The value of every condition, also of those that a plan does not ask for."""
    context = OperationContext(process, RunContext.over(ScriptedModel()))
    return {**await process.observe(), **{name: find(context) for name, find in process.agent.conditions.items()}}


def compare(world: Mapping[str, object], done: ActionSpec) -> None:
    for name, expected in done.plan.effects.items():
        only_maybe = name.endswith(" already") and done.plan.effects.get(name.removesuffix(" already"), True)
        if not expected and not only_maybe:
            assert not world[name], (done.name, name)
        elif name == done.condition_ran and not any(issubclass(kind, (Phase, Room)) for kind in done.output_types):
            assert world[name], (done.name, name)


@examples(150)
@example([Act([Room], [Thing], Thing), Act([], [Hall], Hall), Act([], [Thing], Thing, trigger=Thing)], Planner.GOAP, [])
@example(
    [
        Act([], [Special], Special),
        Act([], [Thing], Thing),
        Act([], [Thing], Thing, trigger=Thing),
        Act([], [Room], Room, clear_blackboard=True, pre=("expr: thing is not None",)),
    ],
    Planner.GOAP,
    [],
)
@given(
    st.lists(acts(), min_size=1, max_size=5),
    st.sampled_from([Planner.GOAP, Planner.UTILITY]),
    st.lists(st.sampled_from([Thing, Special, Other, Phase, Room]), max_size=3),
)
def test_a_tick_does_what_the_outlook_says_and_what_is_expected_to_be_gone_is_gone(
    drawn: list[Act], planner: Planner, kinds: list[type]
) -> None:
    asyncio.run(check(agent_of(*drawn, planner=planner), [kind() for kind in kinds]))
