"""`ParallelAgents`: several work on the same input at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from typing_extensions import TypeVar, override

from tactician.agents.base import BaseRunnable, find_input_types
from tactician.agents.composition import Member
from tactician.agents.results import Attempts, as_own_result, format_briefing, format_contribution
from tactician.errors import DeclarationError
from tactician.flow.scheduler import Scheduler, gather_or_suspend
from tactician.flow.steps import FlowStep, StepCompleted
from tactician.runs import Budget, Input, RunContext, Runnable, RunResult, RunStatus
from tactician.runs.life.inputs import InputTypes
from tactician.runs.runnable import need_members
from tactician.suggestions import suggest_options

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)


@suggest_options
class ParallelAgents(BaseRunnable[T_co]):
    """Members that work on the same input at once.

    The answer of the first member in the list is the answer; the other answers are `related`.

    When a member raises an exception, the others are cancelled, and the run fails.

    Args:
        name: the name.
        members: the members.
        description: the purpose; the names of the members by default.

    Raises:
        DeclarationError: when there is no member, or a member is not a Runnable.
    """

    def __init__(self, name: str, members: Sequence[Runnable[T_co]], *, description: str | None = None) -> None:
        if not members:
            raise DeclarationError(f"ParallelAgents {name!r}", ["it needs at least one member"])
        need_members(f"ParallelAgents {name!r}", "members", members)
        self.name = name
        self.members = tuple(members)
        self.own_description = description or ""
        self.description = description or f"{', '.join(member.name for member in members)}, all at once"

    def __repr__(self) -> str:
        return f"ParallelAgents({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return tuple(Member("", member) for member in self.members)

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(*self.members)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        places = [context, *[context.as_internal()] * (len(self.members) - 1)]
        runs = (
            member.run(input, context=place.at(key))
            for place, (key, member) in zip(places, _number_members(self.members), strict=True)
        )
        primary, *others = await gather_or_suspend(*runs)
        return as_own_result(primary, context, others)

    def as_first_of(self) -> FirstOf[T_co]:
        """Return a Runnable of the same members in which the first to succeed gives the answer."""
        return FirstOf(self)

    def as_synthesis(self, synthesizer: Runnable[T]) -> Synthesis[T]:
        """Return a Runnable of the same members whose answers the synthesizer combines."""
        return Synthesis(self, synthesizer)

    async def run_first(
        self, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[T_co]:
        """Return the result of the first member to succeed, and cancel the others.

        Continue a waiting run with `as_first_of().resume(...)`.

        Raises:
            RunError: when all fail; its message says why each did.
        """
        return await self.as_first_of().run(input, context=context, budget=budget)

    async def run_and_synthesize(
        self, input: Input, *, synthesizer: Runnable[T], context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[T]:
        """Run all members, and return the synthesizer's answer; the results of the members are `related`.

        Continue a waiting run with `as_synthesis(synthesizer).resume(...)`.

        Raises:
            RunError: when the synthesizer fails.
        """
        return await self.as_synthesis(synthesizer).run(input, context=context, budget=budget)


class FirstOf(BaseRunnable[T_co]):
    """Members of a group that work at once, where the first to succeed answers; see `ParallelAgents.as_first_of`.

    Args:
        group: the group of the members.
    """

    def __init__(self, group: ParallelAgents[T_co]) -> None:
        self.name = f"{group.name} (first)"
        self.description, self.own_description = group.description, group.own_description
        self.trace = group.trace
        self.group = group

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return self.group.composition

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(*self.group.members)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        attempts, members = Attempts(context), dict(_number_members(self.group.members))

        def attempt(key: str) -> FlowStep[RunResult[object]]:
            return FlowStep(key, lambda _: attempts.run(key, members[key], input))

        async with Scheduler[RunResult[object]]() as scheduler:
            scheduler.add(*map(attempt, members))
            async for outcome in scheduler:
                if isinstance(outcome, StepCompleted) and outcome.result.status is not RunStatus.FAILED:
                    break
            else:
                results = [
                    completed.result
                    for completed in scheduler.outcomes.values()
                    if isinstance(completed, StepCompleted)
                ]
                contributions = map(format_contribution, members.values(), results)
                raise attempts.create_error(self.name, input, contributions) from attempts.last_error
        attempts.give_up((key for key in members if key != outcome.key), "another member was first")
        return cast("RunResult[T_co]", as_own_result(outcome.result, context))  # a member has not failed


class Synthesis(BaseRunnable[T_co]):
    """Members of a group that work at once, with a synthesizer; see `ParallelAgents.as_synthesis`.

    Args:
        group: the group of the members.
        synthesizer: the Runnable that gets the input and all answers, and combines them.
    """

    def __init__(self, group: ParallelAgents, synthesizer: Runnable[T_co]) -> None:
        self.name = f"{group.name} (synthesis)"
        self.description, self.own_description = group.description, group.own_description
        self.trace = group.trace
        self.group = group
        self.synthesizer = synthesizer

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return *self.group.composition, Member("synthesizer", self.synthesizer)

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(*self.group.members)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        attempts, members = Attempts(context), self.group.members
        results = await gather_or_suspend(
            *(attempts.run(key, member, input) for key, member in _number_members(members))
        )
        task = format_briefing(input, map(format_contribution, members, results))
        return as_own_result(await self.synthesizer.run(task, context=context), context, results)


def _number_members(members: Sequence[Runnable[T]]) -> Iterable[tuple[str, Runnable[T]]]:
    """Return the members with their positions, since names need not be unique."""
    return ((f"{number}", member) for number, member in enumerate(members, start=1))
