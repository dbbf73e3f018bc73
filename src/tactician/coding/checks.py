"""Checks of a coding agent: that it does not go in circles, and that its work is done when it says so."""

from __future__ import annotations

from typing import Final

from tactician.coding.commands.measuring import run_suite
from tactician.coding.events import SuiteMeasured
from tactician.coding.output import MeasuredTests, SuiteSummary
from tactician.coding.session import CodingSession
from tactician.guardrails import GuardrailResult, failed, passed, retry
from tactician.llm import ToolCall
from tactician.runs import RunContext
from tactician.runs.context.threads import in_thread

_MAX_RETURNS: Final = 4
_RERUNS: Final = 2


def stop_circles(call: ToolCall, context: RunContext) -> GuardrailResult:
    """Stop a run whose changes have come back to the same state of the files again and again."""
    session = CodingSession.__from_run__(context)
    if session.returns < _MAX_RETURNS:
        return passed()
    return failed(f"it goes in circles: the files were in the same state {session.returns + 1} times")


async def verify_work(text: str, context: RunContext) -> GuardrailResult:
    """Refuse an answer while tests that failed still fail, or tests that passed do not pass any more."""
    session = CodingSession.__from_run__(context)
    tests = await measure_after(session, context)
    if (problem := tests.find_problem()) is None:
        return passed()
    return retry(f"the work is not done: {problem}. Go on with your tools, and answer when the tests pass")


async def measure(session: CodingSession, context: RunContext, moment: str) -> SuiteSummary:
    """Run the tests, if they may be run without asking.

    Raises:
        ToolError: when the tests take too long.
    """
    if not session.policy.may_measure:
        return SuiteSummary()
    summary = SuiteSummary.of(await run_suite(session.project, session.workspace, session.policy, context.clock))
    if summary.is_measured:
        context.emit(SuiteMeasured, moment=moment, passed=len(summary.passed), failed=len(summary.failed))
    return summary


async def measure_after(session: CodingSession, context: RunContext) -> MeasuredTests:
    """Run the tests after the work; again where tests fail that passed before, as some pass only now and then.

    Raises:
        ToolError: when the tests take too long.
    """
    changes = await in_thread(session.digest_changes)
    if session.measured is not None and session.measured[0] == changes:
        return MeasuredTests(session.before, session.measured[1])
    after = await measure(session, context, "after")
    for _ in range(_RERUNS):
        broken = set(after.failed) - set(session.before.failed)
        if not broken or not broken <= set(session.before.passed):
            break
        again = await measure(session, context, "after")
        flaky = broken & set(again.passed)
        after = SuiteSummary(
            (*after.passed, *sorted(flaky)), tuple(name for name in after.failed if name not in flaky), True
        )
    session.measured = changes, after
    return MeasuredTests(session.before, after)
