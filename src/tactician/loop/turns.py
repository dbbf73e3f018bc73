"""The turn loop: ask the model, run the tools that it calls, and repeat until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from tactician.conversation import Conversation, MessageWindow, find_token_counter
from tactician.grammar import format_count
from tactician.guardrails.checks import find_any_objection, find_first_objection
from tactician.guardrails.guardrail import CheckedInput
from tactician.llm import (
    AssistantMessage,
    LanguageModel,
    LlmOptions,
    Message,
    ModelRequest,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.options import NO_OPTIONS
from tactician.loop.acceptance import Acceptance
from tactician.loop.autonomy import Autonomous, TaskOver
from tactician.loop.endings import Answer, AutonomousEnding, Ending, ReplyEnding
from tactician.loop.handoffs import Handoff, hand_over
from tactician.loop.model_call import PieceGate, ask, receive
from tactician.loop.output import InvalidOutput, OutputType
from tactician.loop.policy import DEFAULT_POLICY, AnswerAttempts, TurnPolicy
from tactician.loop.state import TurnState
from tactician.loop.tool_runner import Refused, ToolRunner
from tactician.prompts import KnowledgeCutoff
from tactician.runs import BudgetError, RunContext, RunResult, TurnLimitError
from tactician.runs.context.context import reset_current, set_current
from tactician.runs.context.part_settings import RequestPace
from tactician.runs.outcomes.suspension import Suspended
from tactician.tools import Tool
from tactician.tools.tool import describe_result
from tactician.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tactician.planning.rules import Rule

T = TypeVar("T")
NO_TOOLS = Toolbox()
_MAX_REFUSALS = 3
_ANSWER_NOW = UserMessage("You have used up what you may do. Answer now, with what you have, and call no tools.")
_NOT_RUN = "STOP: no more tools may be called. Answer now, with what you have."


class TurnLoop(Generic[T]):
    """Conversation that takes turns until an answer. Use an instance once.

    Args:
        tools: the tools of the model; a function is called before each turn, so that tools can change.
        ending: the rule for the answer; by default the first reply, or the policy's rule.
        shared_rules: rules of the platform, which hold where they speak of a tool.
    """

    def __init__(
        self,
        model: LanguageModel,
        output: OutputType[T],
        context: RunContext,
        *,
        instructions: str = "",
        tools: Toolbox | Callable[[], Toolbox] = NO_TOOLS,
        options: LlmOptions = NO_OPTIONS,
        policy: TurnPolicy = DEFAULT_POLICY,
        ending: Ending[T] | None = None,
        shared_rules: tuple[Rule, ...] = (),
    ) -> None:
        autonomy = policy.autonomy
        self._model = model
        self._output = output
        self._context = context
        if (cutoff := model.features.knowledge_cutoff) is not None:
            instructions = "\n\n".join(filter(None, (instructions, KnowledgeCutoff(cutoff).contribution())))
        self._instructions = instructions
        self._system = _build_system_messages(instructions)
        self._tools = tools
        self._options = options if context.trace is None else options.with_trace(context.trace)
        self._policy = policy
        usual = ReplyEnding(output) if autonomy is None else AutonomousEnding(output, autonomy)
        self._ending: Ending[T] = usual if ending is None else ending
        strategy = policy.window if autonomy is None else autonomy.build_strategy(policy.window)
        self._window: MessageWindow | None = None
        if strategy is not None:
            self._window = strategy.start(self._inside, find_token_counter(model.name))
        self._is_saved = context.is_saved
        self._toolbox: Toolbox | None = None
        self._turn_began: float | None = None
        self._shared_rules = shared_rules
        rules = (*policy.rules, *shared_rules)
        is_owed = bool(rules) and any(rule.is_obligation for rule in rules)
        self._is_checked = bool(policy.guards.output) or autonomy is not None or is_owed
        self._gate: PieceGate | None = None
        self._state: TurnState

    async def run(self, messages: Sequence[Message], conversation: Conversation | None = None) -> RunResult[T]:
        """Take turns until the model answers.

        Args:
            messages: the new messages.
            conversation: the conversation so far. It gets all new messages, and is complete at the end even if the
                run fails or is cancelled: input that a guardrail refuses leaves it, and open tool calls are answered.

        Raises:
            TurnLimitError: when the model still calls tools after all its turns.
            OutputError: when no answer is valid within `max_attempts`.
            GuardrailError: when a guardrail stops the run.
            BudgetError: when the budget is used up.
            HandoffError: when the target's answer is not of the declared type.
            ModelError: when the model cannot be called.
            Suspended: when the run has to wait for an approval or for the caller.
        """
        state = self._state = TurnState.begin(messages, conversation, self._context)
        if self._policy.rules or self._shared_rules:
            from tactician.loop.rule_guard import start_guard

            tools, now = self._load_toolbox(), self._context.clock.time()
            start_guard(self._policy.rules, self._shared_rules, tools, state, now)
        try:
            result = await self._take_turns(messages)
        except Refused as refused:
            objection = refused.objection
            if conversation is not None:
                if objection.kind == "input":
                    conversation.rewind(state.beginning - len(messages))
                state.answer_open_calls()
            failed = state.create_failed_result(self._context)
            raise objection.create_error(self._name, failed) from objection.result.cause
        except Suspended:
            raise
        except BaseException:
            if conversation is not None:
                state.answer_open_calls()
            raise
        if conversation is not None and result.delegation_path and not state.is_handed_over:
            conversation.append(AssistantMessage((Text(describe_result(result.output)),)))
            state.is_handed_over = True
        return result

    async def _take_turns(self, new: Sequence[Message]) -> RunResult[T]:
        state = self._state
        message = state.answer
        if message is None:
            immediate, concurrent = self._policy.guards.input
            has_to_check = (immediate or concurrent) and not state.turn
            message = await (self._get_first_message(new) if has_to_check else self._get_next_message())
        while True:
            rejections = state.rejections
            if calls := message.tool_calls:
                result = await self._handle_calls(message, calls)
            elif (answer := self._read_reply(text := message.text)) is None:
                result = None
            elif self._is_saved or self._policy.guards.output or state.guard is not None:
                result = await self._create_acceptance().accept_value(answer.value, text)
            else:
                result = state.create_result(answer.value, self._context)
            if result is not None:
                return result
            if state.rejections > rejections:
                await self._pause(state.rejections)
            message = await self._get_next_message()

    async def _get_first_message(self, new: Sequence[Message]) -> AssistantMessage:
        """Return the model's first message, once the input guardrails have passed; some run beside the model call."""
        immediate, concurrent = self._policy.guards.input
        checked = CheckedInput(new, self._state.conversation.to_tuple())
        with self._inside.enter():
            objection = await find_first_objection(immediate, checked, self._inside)
        if objection is not None:
            raise Refused(objection)
        if not concurrent:
            return await self._get_next_message()
        self._gate = gate = PieceGate()
        asking = asyncio.ensure_future(self._get_next_message())
        try:
            with self._inside.enter():
                objection = await find_any_objection(concurrent, checked, self._inside)
            if objection is not None:
                raise Refused(objection)
            gate.open()
            message = await asking
            self._gate = None
            return message
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _get_next_message(self) -> AssistantMessage:
        """Ask the model for its next message. When it may not call tools any more, the request says so."""
        policy, context, state = self._policy, self._context, self._state
        state.answer = None
        state.is_last_word = is_last_word = self._is_over()
        if policy.autonomy is not None:
            await self._throttle(policy.autonomy)
        if (reason := context.find_limit()) is not None:
            raise BudgetError(f"{self._name}: {reason}", state.create_failed_result(context))
        if context.meter is not None:
            context.meter.count_turn()
        state.turn += 1
        conversation = state.conversation
        view = conversation.to_tuple() if self._window is None else await self._window.view(conversation)
        request = self._build_request(view, is_last_word)
        if self._is_saved:
            await context.begin_step()
        if context.surroundings and (pace := context.find(RequestPace)) is not None:
            await pace.turn()
        response = await ask(
            self._model,
            request,
            context,
            state.turn,
            self._output.partial,
            is_checked=self._is_checked,
            gate=self._gate,
        )
        message = receive(response, self._model, context, state)
        state.cut_off = response.finish_reason == "length"
        conversation.append(message)
        state.answer = message
        if self._is_saved:
            await context.save_step("answer", self._model.name, _describe(message))
        return message

    def _is_over(self) -> bool:
        """Return whether the model may call no more tools."""
        policy, state = self._policy, self._state
        if policy.autonomy is not None:
            limit = policy.autonomy.max_iterations
            if limit is not None and state.turn >= limit:
                if state.restarts >= policy.autonomy.retries:
                    raise self._create_turn_limit_error(limit)
                state.restart()
        elif state.turn >= policy.max_turns:
            return True
        return policy.max_tool_calls is not None and state.calls >= policy.max_tool_calls

    def _build_request(self, view: Sequence[Message], is_over: bool) -> ModelRequest:
        tools = self._toolbox = self._load_toolbox()
        if self._ending.instructions:
            self._system = _build_system_messages(
                "\n\n".join(filter(None, (self._instructions, self._ending.instructions)))
            )
        if is_over:
            return ModelRequest(
                (*self._system, *view, _ANSWER_NOW),
                tools.specs,
                "none" if tools.specs else "auto",
                self._output.spec,
                self._options,
            )
        return ModelRequest((*self._system, *view), tools.specs, "auto", self._ending.spec, self._options)

    def _load_toolbox(self) -> Toolbox:
        return self._ending.tools(self._tools if isinstance(self._tools, Toolbox) else self._tools())

    async def _pause(self, rejections: int) -> None:
        """Wait after an answer that was not valid, as the project says."""
        context = self._context
        if seconds := context.services.find(AnswerAttempts).settings.pause_after(rejections):
            await context.clock.sleep(seconds)

    async def _throttle(self, autonomy: Autonomous) -> None:
        if autonomy.min_iteration_interval is None:
            return
        clock = self._context.clock
        if self._turn_began is not None:
            pause = self._turn_began + autonomy.min_iteration_interval - clock.monotonic()
            if pause > 0:
                await clock.sleep(pause)
        self._turn_began = clock.monotonic()

    async def _handle_calls(self, message: AssistantMessage, calls: Sequence[ToolCall]) -> RunResult[T] | None:
        """Run the tools, and return the result if any of them ends the run."""
        if self._state.is_last_word:
            self._refuse(calls)
            return None
        tools = self._toolbox or self._load_toolbox()
        if not (results := self._state.find_results(message)):
            entered = set_current(self._inside)
            try:
                results = await self._create_runner().answer(calls, tools)
            finally:
                reset_current(entered)
        return await self._find_ending(message, results, tools)

    def _read_reply(self, text: str) -> Answer[T] | None:
        """Return the answer in a reply; without an answer, tell the model to continue."""
        state = self._state
        try:
            is_answer = state.is_last_word  # whatever ends the run otherwise: there are no tools any more
            answer = Answer(self._output.parse(text)) if is_answer else self._ending.answer(text)
        except InvalidOutput as error:
            self._create_acceptance().reject(text, error)
            return None
        if answer is None:
            state.conversation.append(UserMessage(self._ending.nudge))
        return answer

    def _refuse(self, calls: Sequence[ToolCall]) -> None:
        """Refuse the tool calls of a model that has to answer; after several times, end the run."""
        self._state.refusals += 1
        self._create_runner().refuse(calls, _NOT_RUN)
        if self._state.refusals >= _MAX_REFUSALS:
            raise self._create_turn_limit_error(self._policy.max_turns)

    async def _find_ending(
        self, message: AssistantMessage, results: Sequence[ToolResult], tools: Toolbox
    ) -> RunResult[T] | None:
        """Return the result if any of the called tools ends the run."""
        pairs = zip(message.tool_calls, results, strict=True)
        ends = [(c, r, t) for c, r in pairs if not r.is_error and (t := tools.find(c.name)) and t.traits.ends_run]
        for call, result, tool in sorted(ends, key=_comes_after_handoffs):
            if isinstance(tool, Handoff):
                if (debt := self._describe_debt()) is not None:
                    self._create_acceptance().reject("", f"the conversation stays with you, as {debt}")
                    return None
                messages = self._state.conversation.messages
                turn_context = self._context.with_model(self._model, self._options)
                delegated = await hand_over(tool, call, self._name, messages, turn_context)
                return cast("RunResult[T]", delegated)  # it is of the type that the handoff promises
            if isinstance(tool, TaskOver):
                return await self._create_acceptance().accept_text(call.arguments)
            text = result.content if tool.traits.return_direct else message.text or result.content
            return await self._create_acceptance().accept_text(text)
        return None

    def _describe_debt(self) -> str | None:
        """Return what the rules ask for before the run may end; `None` when nothing is owed."""
        if (guard := self._state.guard) is None:
            return None
        from tactician.loop.rule_guard import describe_debt

        return describe_debt(guard, self._context.clock.time())

    @cached_property
    def _inside(self) -> RunContext:
        """The context for work on behalf of the model: tools, guardrails, summaries."""
        return self._context.with_model(self._model, self._options, is_internal=True)

    def _create_runner(self) -> ToolRunner:
        return ToolRunner(self._inside, self._policy, self._state)

    def _create_acceptance(self) -> Acceptance[T]:
        context = self._inside if self._policy.guards.output else self._context
        return Acceptance(self._name, self._output, context, self._policy, self._state)

    def _create_turn_limit_error(self, limit: int) -> TurnLimitError:
        return TurnLimitError(
            f"{self._name}: no answer within {format_count(limit, 'turn')}; raise the "
            "limit, or look at what its tools return",
            self._state.create_failed_result(self._context),
        )

    @property
    def _name(self) -> str:
        return self._context.path[-1] if self._context.path else self._model.name


@lru_cache(maxsize=256)
def _build_system_messages(instructions: str) -> tuple[SystemMessage, ...]:
    return (SystemMessage(instructions),) if instructions else ()


def _describe(message: AssistantMessage) -> str:
    """Return the text and the calls of a message, for people."""
    return " ".join(filter(None, (message.text, *(f"{call.name}({call.arguments})" for call in message.tool_calls))))


def _comes_after_handoffs(end: tuple[ToolCall, ToolResult, Tool]) -> bool:
    """Return whether a tool that ends the run is none that hands the conversation over, which comes first."""
    return not isinstance(end[2], Handoff)
