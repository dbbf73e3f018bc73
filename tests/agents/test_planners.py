"""The planner of an agent, what it does when it is stuck, and what else its declaration carries."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Export,
    PlannedAgent,
    Planner,
    ProcessStatus,
    SomeOf,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    state,
)
from tactician.errors import DeclarationError
from tactician.planning import AStarPlanner, UtilityPlanner
from tactician.planning.hybrid import HybridPlanner
from tactician.process import ActionRetryPolicy, AgentProcess
from tactician.process.stored_types import list_stored_names
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Ticket:
    description: str


@dataclass(frozen=True)
class Resolved:
    handled_by: str


@state
class Category:
    pass


@planned_agent(description="Triage and process support tickets", planner=Planner.UTILITY)
class TicketTriage:
    @action
    def triage(self, ticket: Ticket) -> Category:
        return Critical(ticket) if "down" in ticket.description else General(ticket)


@dataclass(frozen=True)
class Critical(Category):
    ticket: Ticket

    @achieves_goal("Handle a critical ticket with immediate escalation")
    @action
    def handle(self) -> Resolved:
        return Resolved("on call")


@dataclass(frozen=True)
class General(Category):
    ticket: Ticket

    @achieves_goal("Handle a general inquiry")
    @action
    def handle(self) -> Resolved:
        return Resolved("support")


@pytest.mark.parametrize(("description", "team"), [("it is down", "on call"), ("how?", "support")])
async def test_utility_and_states_route_by_what_was_found(description: str, team: str) -> None:
    process = await started(TicketTriage(), Ticket(description))
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == Resolved(team)
    assert len(steps(process)) == 2


async def test_utility_runs_the_action_of_highest_net_value_first_and_needs_no_goal() -> None:
    @planned_agent(description="reacts", planner=Planner.UTILITY)
    class Reacting:
        @action(value=0.5)
        def second(self, ticket: Ticket) -> None: ...

        @action(value=0.9, cost=0.1)
        def first(self, ticket: Ticket) -> None: ...

        @action(value=0.9, cost=0.7)
        def third(self, ticket: Ticket) -> None: ...

    process = await started(Reacting(), Ticket("x"))
    assert steps(process) == ["first", "second", "third"]
    assert process.status is ProcessStatus.STUCK


async def test_hybrid_does_what_is_worth_while_and_then_goes_for_the_goal() -> None:
    @planned_agent(description="does both", planner=Planner.HYBRID)
    class Both:
        @action(cost=0.1)
        def look(self, ticket: Ticket) -> UserInput:
            return UserInput("seen")

        @action(value=0.5)
        def note(self, ticket: Ticket) -> None: ...

        @achieves_goal("done")
        @action(cost=0.1)
        def finish(self, seen: UserInput) -> str:
            return "done"

    assert steps(await started(Both(), Ticket("x"))) == ["note", "look", "finish"]


@pytest.mark.parametrize(
    ("planner", "kind"),
    [(Planner.GOAP, AStarPlanner), (Planner.UTILITY, UtilityPlanner), (Planner.HYBRID, HybridPlanner)],
)
def test_the_planner_is_the_one_that_was_declared(planner: Planner, kind: type) -> None:
    assert type(PlannedAgent(planned_agent(description="d", planner=planner)(_Work)()).spec.planner) is kind


class _Work:
    @achieves_goal("done")
    @action
    def finish(self, ticket: Ticket) -> str:
        return "done"


def test_a_supervisor_is_declared_like_any_other_planner() -> None:
    led = PlannedAgent(planned_agent(description="d", planner=Planner.SUPERVISOR)(type("Led", (_Work,), {}))())
    assert [one.name for one in led.spec.actions] == ["finish", "supervise"]


def test_a_supervisor_needs_a_goal() -> None:
    led = planned_agent(description="d", planner=Planner.SUPERVISOR)(type("Led", (), {"work": action(_none)}))
    with pytest.raises(DeclarationError, match="it has no goal"):
        PlannedAgent(led())


def _none(self: object, ticket: Ticket) -> Resolved:
    raise AssertionError("this is not run")


@planned_agent(description="self unsticking agent")
class SelfUnsticking:
    def __init__(self, helps: bool) -> None:
        self.helps = helps
        self.called = 0

    @achieves_goal("the big goal in the sky")
    @action
    def to_resolved(self, ticket: Ticket) -> Resolved:
        return Resolved(ticket.description)

    async def handle_stuck(self, process: AgentProcess) -> bool:
        self.called += 1
        if self.helps:
            process.blackboard.add(Ticket("Duke"))
        return self.helps


async def test_an_agent_adds_what_is_missing_when_it_is_stuck() -> None:
    agent = SelfUnsticking(helps=True)
    assert (await started(agent, "go")).result == Resolved("Duke")
    assert agent.called == 1


async def test_an_agent_that_cannot_help_stays_stuck() -> None:
    agent = SelfUnsticking(helps=False)
    assert (await started(agent, "go")).status is ProcessStatus.STUCK
    assert agent.called == 1


async def test_a_handler_may_be_a_plain_method() -> None:
    @planned_agent(description="helps at once")
    class Plain(_Work):
        def handle_stuck(self, process: AgentProcess) -> bool:
            process.blackboard.add(Ticket("found"))
            return True

    assert (await started(Plain(), "go")).result == "done"
    assert PlannedAgent(SelfUnsticking(True)).spec.stuck_handler is not None
    assert PlannedAgent(TicketTriage()).spec.stuck_handler is None


@dataclass(frozen=True)
class Parts(SomeOf):
    part: Part | None = None


@dataclass(frozen=True)
class Part:
    pass


class SpecialPart(Part):
    pass


@planned_agent(description="declares all there is")
class Full:
    @action(tool_groups=["web", "files"], retry=ActionRetryPolicy(attempts=7), clear_blackboard=True)
    def take_apart(self, ticket: Ticket | None, user_input: UserInput) -> Parts:
        return Parts()

    @achieves_goal("triaged", export=Export(remote=True, name="triage"))
    @action(tool_groups="web")
    def triage(self, part: Part) -> Resolved:
        return Resolved("x")


def test_the_spec_carries_what_was_declared() -> None:
    spec = PlannedAgent(Full()).spec
    take_apart, triage = spec.actions
    assert take_apart.tool_groups == ("web", "files")
    assert take_apart.retry == ActionRetryPolicy(attempts=7)
    assert take_apart.input_types == (UserInput,)
    assert take_apart.clear_blackboard
    assert (triage.tool_groups, triage.retry, triage.state) == (("web",), None, None)
    assert spec.goals[0].export == Export(remote=True, name="triage")
    assert [action.state for action in PlannedAgent(TicketTriage()).spec.actions] == [None, Critical, General]


def test_the_spec_knows_every_type_that_may_be_on_the_blackboard() -> None:
    own = {Ticket, UserInput, Parts, Part, SpecialPart, Resolved}
    assert PlannedAgent(Full()).spec.types == {name: kind for kind in own for name in list_stored_names(kind)}
    triage = PlannedAgent(TicketTriage()).spec.types
    assert {Category, Critical, General} <= set(triage.values())
    assert triage[f"{__name__}.Critical"] is Critical


async def test_an_agent_without_a_goal_says_why_nothing_runs() -> None:
    @planned_agent(description="reacts", planner=Planner.UTILITY)
    class Reacting:
        @action(pre=["expr: ticket.description == 'urgent'"])
        def react(self, ticket: Ticket) -> None: ...

    process = await started(Reacting(), Ticket("x"))
    assert process.failure == (
        "No action can run now; the nearest action is 'react', which needs "
        "\"expr: ticket.description == 'urgent'\" (false). On the blackboard: Ticket."
    )


async def test_an_agent_that_has_done_all_says_so_in_plain_words() -> None:
    @planned_agent(description="reacts", planner=Planner.UTILITY)
    class Reacting:
        @action(value=0.5)
        def find(self, ticket: Ticket) -> Part:
            raise AssertionError("there is one already")

        @action(value=0.9)
        def resolve(self, ticket: Ticket) -> Resolved:
            return Resolved("x")

        @action
        def celebrate(self, critical: Critical) -> None: ...

    process = await started(Reacting(), Ticket("x"), Part())
    assert steps(process) == ["resolve"]
    assert process.failure == (
        "No action can run now: 'find' does not run when there is Part already; 'resolve' has run already; "
        "'celebrate' needs 'Critical'. On the blackboard: Ticket, Part, Resolved."
    )
