"""Runner of the tool calls of a turn: each call gets an approval if needed, and exactly one result."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tactician.errors import ConfigurationError, TacticianError
from tactician.flow.scheduler import gather_or_suspend
from tactician.flow.timeout import StepTimeoutError, run_with_timeout
from tactician.grammar import format_count
from tactician.guardrails.checks import Objection, find_first_objection
from tactician.guardrails.guardrail import CheckedToolOutput
from tactician.llm import ToolCall, ToolResult
from tactician.loop.approvals import apply_decision
from tactician.loop.events import ToolAnswered, ToolCalled, ToolInterrupted, ToolReturned
from tactician.loop.handoffs import Handoff
from tactician.loop.policy import TurnPolicy
from tactician.loop.state import TurnState
from tactician.runs import RunContext
from tactician.runs.context.artifacts import HeldArtifacts
from tactician.runs.context.part_settings import find_formatter
from tactician.runs.life.kept_artifacts import deliver_produced
from tactician.runs.outcomes.suspension import find_suspension
from tactician.text import describe_error
from tactician.tools import Tool
from tactician.tools.arguments import repair_arguments
from tactician.tools.toolbox import Toolbox, ToolInvoker

if TYPE_CHECKING:
    from tactician.planning.ruling.calls import RuleGuard

_CHARACTERS_PER_TOKEN = 4
_LONG_RESULT = 10_000


class Refused(Exception):  # noqa: N818 - it says what happened
    """Signal that a guardrail stops the run."""

    def __init__(self, objection: Objection) -> None:
        super().__init__(objection.reason)
        self.objection = objection


class ToolRunner:
    """Runner of the tool calls of a conversation."""

    __slots__ = ("_context", "_formatter", "_is_nested", "_policy", "_state", "_stop")

    def __init__(self, context: RunContext, policy: TurnPolicy, state: TurnState, *, is_nested: bool = False) -> None:
        self._context = context
        self._is_nested = is_nested
        self._stop: Refused | None = None
        self._formatter = find_formatter(context)
        self._policy = policy
        self._state = state

    async def answer(self, calls: Sequence[ToolCall], tools: Toolbox) -> list[ToolResult]:
        """Run all calls, add their results to the conversation, and return them in order.

        Raises:
            Suspended: when a call waits for an approval, or for the caller, once all others have been run.
            Refused: when a guardrail stops the run.
        """
        answers = self._state.answers
        if len(calls) > 1:
            self._keep_one_handoff(calls, tools)
        left = [call for call in calls if call.id not in answers] if answers else calls
        limit = None if self._policy.parallel_tools else 1
        await gather_or_suspend(*[self._answer(call, tools) for call in left], max_concurrency=limit)
        results = [answers[call.id] for call in calls]
        self._state.conversation.extend(results)
        answers.clear()
        self._state.admitted.clear()
        return results

    async def invoke(self, call: ToolCall, tools: Toolbox) -> ToolResult:
        """Run a call that a tool makes, and return its whole result, which is not added to the conversation.

        Raises:
            Suspended: when the call waits for an approval, or for the caller.
            Refused: when a guardrail stops the run.
        """
        tool = tools.find(call.name)
        call = _repair_call(call)
        result = self._decide(call, tool)
        if not isinstance(result, ToolCall):
            self._context.emit(ToolAnswered, call=call, result=result)
            return result
        try:
            return await self._run_and_report(result, tool, tools)
        except Refused as refused:
            self._stop = refused
            raise

    def refuse(self, calls: Sequence[ToolCall], reason: str) -> None:
        """Answer all calls with the reason why they are not run."""
        self._state.conversation.extend([ToolResult(call.id, call.name, reason, is_error=True) for call in calls])

    def _keep_one_handoff(self, calls: Sequence[ToolCall], tools: Toolbox) -> None:
        """Refuse all handoffs except the first, as a conversation can be handed over to a single target only."""
        handoffs = [call for call in calls if isinstance(tools.find(call.name), Handoff)]
        for call in handoffs[1:]:
            why_not = f"Not done: the conversation goes to {handoffs[0].name} already."
            self._state.answers[call.id] = ToolResult(call.id, call.name, why_not, is_error=True)

    async def _answer(self, call: ToolCall, tools: Toolbox) -> None:
        tool = tools.find(call.name)
        if self._policy.guards.tool_input or (tool is not None and tool.traits.needs_approval):
            call = _repair_call(call)  # what is checked must be what is run
        # Before anybody is asked for an approval.
        refusal = None if self._state.guard is None else self._refuse_by_rules(self._state.guard, call, tools)
        result = refusal or self._decide(call, tool)
        if isinstance(result, ToolCall):
            shown = await self._format(await self._run_and_report(result, tool, tools), tool)
            result = _trim(shown, self._policy)
        elif refusal is None:
            self._context.emit(ToolAnswered, call=call, result=result)
            result = await self._format(result, tool)
        self._state.answers[call.id] = result
        if (checkpoint := self._context.checkpoint) is not None:
            checkpoint.drop(call.id)
            if self._context.is_saved:
                await self._context.save_step("tool", call.name, result.content)

    def _decide(self, call: ToolCall, tool: Tool | None) -> ToolCall | ToolResult:
        """Return the call to run, or its result; a call that the caller of the run makes counts for rules, too.

        Raises:
            Suspended: when the call waits for an approval, or for the caller.
        """
        guard = self._state.guard
        if guard is None or tool is None or not tool.traits.client_side:
            return apply_decision(call, tool, self._context)
        guard.start(call.name)  # it runs until the caller answers
        result = apply_decision(call, tool, self._context)
        has_succeeded = isinstance(result, ToolResult) and not result.is_error
        guard.end(call.name, self._context.clock.time(), has_succeeded=has_succeeded)
        return result

    def _run_and_report(
        self, call: ToolCall, tool: Tool | None, tools: Toolbox
    ) -> Coroutine[object, object, ToolResult]:
        """Run a call, with an event before and after it if anybody listens."""
        run = self._report if self._context.services.bus.is_observed else self._produce_result
        return run(call, tool, tools)

    async def _report(self, call: ToolCall, tool: Tool | None, tools: Toolbox) -> ToolResult:
        self._context.emit(ToolCalled, call=call)
        now = self._context.clock.monotonic
        started = now()
        try:
            result = await self._produce_result(call, tool, tools)
        except BaseException as error:
            seconds, failure = now() - started, None if find_suspension(error) else describe_error(error)
            self._context.emit(ToolInterrupted, call=call, seconds=seconds, error=failure)
            raise
        self._context.emit(ToolReturned, call=call, result=result, seconds=now() - started)
        return result

    async def _format(self, result: ToolResult, tool: Tool | None) -> ToolResult:
        """Return a result in the format of the run. What may become the answer of the run stays as it is."""
        if self._formatter is None or result.is_error or (tool is not None and tool.traits.ends_run):
            return result
        if len(result.content) > _LONG_RESULT:  # nothing else would run in the event loop meanwhile
            return replace(result, content=await asyncio.to_thread(self._formatter.format_json, result.content))
        return replace(result, content=self._formatter.format_json(result.content))

    def _refuse_by_rules(self, guard: RuleGuard, call: ToolCall, tools: Toolbox) -> ToolResult | None:
        from tactician.loop.rule_guard import refuse_call

        return refuse_call(guard, call, tools.names, self._context)

    async def _produce_result(self, call: ToolCall, tool: Tool | None, tools: Toolbox) -> ToolResult:
        """Run a call, if no rule of the agent and no limit forbids it now."""
        if (guard := self._state.guard) is not None:
            from tactician.loop.rule_guard import canonicalize_arguments

            call = canonicalize_arguments(call)
            if (refusal := self._refuse_by_rules(guard, call, tools)) is not None:
                return refusal
        if (why_not := self._find_refusal(call, tool)) is not None:  # a call that does not run counts for no rule
            return ToolResult(call.id, call.name, why_not[0], is_error=why_not[1])
        if guard is None:
            return await self._produce_checked(call, tool, tools)
        guard.start(call.name)
        has_succeeded = False
        try:
            result = await self._produce_checked(call, tool, tools)
            has_succeeded = not result.is_error
        finally:
            guard.end(call.name, self._context.clock.time(), has_succeeded=has_succeeded)
        return result

    async def _produce_checked(self, call: ToolCall, tool: Tool | None, tools: Toolbox) -> ToolResult:
        guards = self._policy.guards
        if guards.tool_input and (objection := await find_first_objection(guards.tool_input, call, self._context)):
            return _answer_objection(call, objection)
        if self._context.pace is not None:
            await self._context.pace.turn()
        if not guards.tool_output:
            return await self._run_in_time(call, tool, tools)
        held = HeldArtifacts(self._context.artifacts)
        result = await self._run_in_time(call, tool, tools, held)
        if not result.is_error:
            checked = CheckedToolOutput(call, result.content)
            if objection := await find_first_objection(guards.tool_output, checked, self._context):
                return _answer_objection(call, objection)
        return self._release(held, result)

    def _release(self, held: HeldArtifacts, result: ToolResult) -> ToolResult:
        """Deliver the objects of a call that the guardrails have accepted, and return its result."""
        try:
            held.release(lambda produced: deliver_produced(produced, self._context))
        except ConfigurationError:
            raise
        except TacticianError as error:  # as a tool's error: the blackboard refuses the object
            return ToolResult(result.call_id, result.name, describe_error(error), is_error=True)
        return result

    def _find_refusal(self, call: ToolCall, tool: Tool | None) -> tuple[str, bool] | None:
        """Return the reason why the call is not run, and whether that is an error; `None` to run it."""
        policy, state = self._policy, self._state
        if call.id in state.admitted:
            return None
        if policy.max_tool_calls is not None and state.calls >= policy.max_tool_calls:
            return (
                f"STOP: the limit of {format_count(policy.max_tool_calls, 'tool call')} is "
                "used up. Answer now, with what you have."
            ), True
        state.calls += 1
        state.admitted.add(call.id)
        if policy.max_repeats is None or self._is_nested or (tool is not None and tool.traits.repeatable):
            return None
        excess = state.count_repeats(call) - policy.max_repeats
        if excess < 0:
            return None
        if excess == 0:
            return (
                f"You have called {call.name} with the same arguments "
                f"{format_count(policy.max_repeats, 'time')} in a row, and it "
                "would give the same again. Use what you have, try something else, or answer.",
                False,
            )
        return f"Not run: {call.name} was called with the same arguments again. Do something else, or answer.", True

    def _run_in_time(
        self, call: ToolCall, tool: Tool | None, tools: Toolbox, held: HeldArtifacts | None = None
    ) -> Coroutine[object, object, ToolResult]:
        limit = self._policy.tool_timeout
        if tool is not None and tool.traits.timeout is not None:
            limit = tool.traits.timeout
        run = self._run_one(call, tool, tools, held)
        return run if limit is None else self._interrupt(run, call, limit)

    async def _interrupt(self, run: Coroutine[object, object, ToolResult], call: ToolCall, limit: float) -> ToolResult:
        """Return the result of a call; the failure of one that takes longer than its limit."""
        try:
            return await run_with_timeout(run, limit, self._context.clock, call.name)
        except StepTimeoutError:
            return ToolResult(
                call.id, call.name, f"{call.name} did not answer within {format_count(limit, 'second')}.", True
            )

    async def _run_one(
        self, call: ToolCall, tool: Tool | None, tools: Toolbox, held: HeldArtifacts | None
    ) -> ToolResult:
        if self._context.is_saved:
            await self._context.begin_step()
        place = self._context.at(call.id, held, series=self._state.series)
        nested: ToolRunner | None = None
        if tool is not None and tool.traits.calls_tools:
            nested = ToolRunner(self._context.at(call.id), self._policy, self._state, is_nested=True)
            place = place.inside({ToolInvoker: ToolInvoker(nested.invoke)})
        try:
            result = await tools.answer(call, place)
        except BaseExceptionGroup as group:  # of a tool with tasks of its own
            if (paused := find_suspension(group)) is None:
                raise
            raise paused from group
        if nested is not None and nested._stop is not None:
            raise nested._stop
        return result


def _trim(result: ToolResult, policy: TurnPolicy) -> ToolResult:
    """Return a result as the model sees it: cut off at the limit, if there is one."""
    tokens, chars = policy.tool_output_limit, policy.max_tool_output_chars
    if tokens is not None and (chars is None or tokens * _CHARACTERS_PER_TOKEN < chars):
        length, limit = tokens * _CHARACTERS_PER_TOKEN, f"{tokens} token limit"
    elif chars is not None:
        length, limit = chars, f"{chars} character limit"
    else:
        return result
    if len(result.content) <= length:
        return result
    return replace(result, content=f"{result.content[:length]}... [trimmed: output exceeded {limit}]")


def _answer_objection(call: ToolCall, objection: Objection) -> ToolResult:
    """Return the result for the model when the guardrail wants a retry.

    Raises:
        Refused: when the run has to stop.
    """
    if objection.wants_retry:
        return ToolResult(call.id, call.name, f"Not accepted: {objection.reason}", is_error=True)
    raise Refused(objection)


def _repair_call(call: ToolCall) -> ToolCall:
    try:
        call.parse_arguments()
    except ValueError:
        repaired = repair_arguments(call.arguments)
        return call if repaired is None else replace(call, arguments=repaired)
    return call
