"""`ParallelAgents`: several work on the same input at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager

from tactician.agents.base import BaseRunnable
from tactician.agents.constellations.attempts import Attempts
from tactician.agents.constellations.results import as_own, briefing, contribution, failure
from tactician.errors import DeclarationError, RunError
from tactician.runs import Budget, Input, Paused, PendingRequest, RunContext, Runnable, RunResult, RunStatus, settle


class ParallelAgents(BaseRunnable[object]):
    """All members work on the input at once. The first member's answer is the answer, the others' are `related`.

    When one raises, the others are cancelled, and the run fails.

    Args:
        name: how others call it.
        members: who works.
        description: what they are for; their names by default.

    Raises:
        DeclarationError: when there is no member.
    """

    def __init__(self, name: str, members: Sequence[Runnable], *, description: str | None = None) -> None:
        if not members:
            raise DeclarationError(f"{type(self).__name__} {name!r}", ["it needs at least one member"])
        self.name = name
        self.members = tuple(members)
        self.description = description or f"{', '.join(member.name for member in members)} at once"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        runs = (member.run(input, context=context.at(f"{n}")) for n, member in enumerate(self.members, start=1))
        primary, *others = await settle(*runs)
        return as_own(primary, context, others)

    def first(self) -> FirstOf:
        """The same members, of whom the first to succeed wins: a Runnable."""
        return FirstOf(f"{self.name} (first)", self.members)

    def synthesized_by(self, synthesizer: Runnable) -> Synthesis:
        """The same members, and one who makes one answer of theirs: a Runnable."""
        return Synthesis(f"{self.name} (synthesis)", self.members, synthesizer)

    async def run_first(
        self, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[object]:
        """The result of the first to succeed. A run that waits goes on with `first().resume(...)`.

        Raises:
            RunError: when all fail; its message says why each did.
        """
        return await self.first().run(input, context=context, budget=budget)

    async def run_and_synthesize(
        self, input: Input, *, synthesizer: Runnable, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[object]:
        """What the synthesizer makes of all answers. A run that waits goes on with `synthesized_by(...).resume(...)`.

        Raises:
            RunError: when the synthesizer fails; a member that fails does not fail the run.
        """
        return await self.synthesized_by(synthesizer).run(input, context=context, budget=budget)


class FirstOf(ParallelAgents):
    """All members work on the input at once. The first to succeed wins, and the others are cancelled."""

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        attempts = Attempts(context)
        numbered = {f"{n}": member for n, member in enumerate(self.members, start=1)}
        failed: dict[str, str] = {}
        pending: list[PendingRequest] = []

        async def attempt(key: str) -> RunResult[object] | None:
            result = await attempts.run(key, numbered[key], input)
            if result.status is not RunStatus.FAILED:
                return result
            failed[key] = contribution(numbered[key], result)
            return None

        async with _at_once(*map(attempt, numbered)) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, Paused):
                    pending.extend(outcome.pending)
                elif outcome is not None:
                    ...
        raise RunError
