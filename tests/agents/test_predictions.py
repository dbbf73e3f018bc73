"""What the planner expects of an action comes true: random agents with subclasses, states, triggers and clearing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tactician import OperationContext, PlannedAgent, Planner, SomeOf, achieves_goal, action, planned_agent, state
from tactician.process import ActionSpec, AgentProcess
from tactician.runs import RunContext
from tactician.testing import ScriptedModel


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


@st.composite
def agents(draw: st.DrawFn) -> object:
    """An agent with some actions, each of which returns something of what it declares."""
    members: dict[str, object] = {"go": achieves_goal("end")(action(_method([Special, Other], [End], End)))}
    for number in range(draw(st.integers(1, 5))):
        needs = draw(st.lists(st.sampled_from([Thing, Special, Other, Phase, Room]), max_size=2, unique=True))
        gives = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True))
        made = draw(st.sampled_from([made for kind in gives for made in MADE[kind]]))
        if Phase in needs and Room in needs:
            continue
        members[f"act{number}"] = action(
            can_rerun=draw(st.booleans()),
            clear_blackboard=draw(st.booleans()),
            trigger=draw(st.sampled_from([None, None, Thing, Other])),
            output_binding=draw(st.sampled_from(["it", "it", "named"])),
            post=draw(st.sampled_from([(), ("told",)])),
            pre=draw(st.sampled_from([(), (), ("expr: thing is not None",)])),
        )(_method(needs, gives, made))
    planner = draw(st.sampled_from([Planner.GOAP, Planner.UTILITY]))
    return planned_agent(description="random", planner=planner)(type("Random", (), members))()


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
    process = PlannedAgent(agent).process(*objects, context=RunContext.over(ScriptedModel()))
    for _ in range(12):
        plan = await process.outlook()
        if plan is None or not plan.actions:
            break
        done = process.agent.action(plan.actions[0].name)
        await process.tick()
        assert process.failure is None
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


@settings(max_examples=150, deadline=None)
@given(agents(), st.lists(st.sampled_from([Thing, Special, Other, Phase, Room]), max_size=3))
def test_what_the_planner_expects_to_be_gone_is_gone(agent: object, kinds: list[type]) -> None:
    asyncio.run(check(agent, [kind() for kind in kinds]))
