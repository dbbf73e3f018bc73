"""The one turn loop: ask the model, run the tools that it calls, ask again, until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from tactician.errors import OutputError, TurnLimitError
from tactician.events import (
    OutputRejected,
    TextReceived,
    ThinkingReceived,
    ToolCalled,
    ToolReturned,
    TurnCompleted,
    TurnStarted,
)
from tactician.llm import (
    NO_OPTIONS,
    AssistantMessage,
    LanguageModel,
    LlmOptions,
    Message,
    ModelRequest,
    ModelResponse,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    UserMessage,
    fit,
)
from tactician.loop.output import InvalidOutput, OutputType
from tactician.runs import RunContext, RunResult, RunStatus
from tactician.tools import Toolbox

T = TypeVar("T")
DEFAULT_MAX_TURNS = 10
DEFAULT_MAX_ATTEMPTS = 3
NO_TOOLS = Toolbox()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPolicy:
    """The limits of a conversation.

    Attributes:
        max_turns: requests to the model, in all.
        max_attempts: how often an answer may fail to be a valid object before the run fails.
        parallel_tools: whether the tool calls of one turn run concurrently.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    parallel_tools: bool = True


DEFAULT_POLICY = TurnPolicy()


class TurnLoop(Generic[T]):
    """One conversation on its way to an answer. Use an instance once."""

    def __init__(
        self,
        model: LanguageModel,
        output: OutputType[T],
        context: RunContext,
        *,
        instructions: str = "",
        tools: Toolbox = NO_TOOLS,
        options: LlmOptions = NO_OPTIONS,
        policy: TurnPolicy = DEFAULT_POLICY,
    ) -> None:
        self._model = model
        self._output = output
        self._context = context
        self._instructions = (SystemMessage(instructions),) if instructions else ()
        self._tools = tools
        self._options = options
        self._policy = policy
        self._messages: list[Message] = []
        self._rejections = 0

    async def run(self, messages: Sequence[Message]) -> RunResult[T]:
        """Takes turns until the model answers.

        Raises:
            TurnLimitError: when it still calls tools after `max_turns`.
            OutputError: when no answer is valid within `max_attempts`.
            ModelError: when the model cannot be called.
        """
        self._messages = list(messages)
        for turn in range(1, self._policy.max_turns + 1):
            response = await self._ask(turn)
            message = response.message
            self._messages.append(message)
            if calls := message.tool_calls:
                self._messages.extend(await self._answers(calls))
                continue
            try:
                return self._result(self._output.parse(message.text))
            except InvalidOutput as error:
                cut_off = "it was cut off after max_tokens; " if response.finish_reason == "length" else ""
                self._reject(message, f"{cut_off}{error}")
        raise TurnLimitError(
            f"{self._name}: no answer within {self._policy.max_turns} turns; raise max_turns, or look at what its "
            f"tools return",
            self._failed(),
        )

    @property
    def _name(self) -> str:
        return self._context.path[-1] if self._context.path else self._model.name

    async def _ask(self, turn: int) -> ModelResponse:
        context = self._context
        request = ModelRequest(
            (*self._instructions, *self._messages), self._tools.specs, "auto", self._output.spec, self._options
        )
        fitted, restore = fit(request, self._model.features)
        if context.sink is None:
            response = await self._model.generate(fitted)
        else:
            response = await self._ask_aloud(turn, request, fitted, streamable=restore is None)
        context.tally.add(response.served_by or self._model.name, response.usage, response.price)
        return response if restore is None else restore(response)

    async def _ask_aloud(
        self, turn: int, request: ModelRequest, fitted: ModelRequest, *, streamable: bool
    ) -> ModelResponse:
        """Asks, and tells the listeners."""
        context, sink = self._context, self._context.sink
        assert sink is not None
        sink(TurnStarted(run_id=context.run_id, path=context.path, turn=turn, model=self._model.name, request=request))
        started = perf_counter()
        if context.streaming and streamable:
            response = await self._streamed(fitted)
        else:
            response = await self._model.generate(fitted)
        sink(
            TurnCompleted(
                run_id=context.run_id,
                path=context.path,
                turn=turn,
                response=response,
                seconds=perf_counter() - started,
            )
        )
        return response

    async def _streamed(self, request: ModelRequest) -> ModelResponse:
        context, sink = self._context, self._context.sink
        assert sink is not None
        response = ModelResponse(AssistantMessage())
        items = self._model.stream(request)
        try:
            async for item in items:
                if isinstance(item, TextDelta):
                    sink(TextReceived(run_id=context.run_id, path=context.path, text=item.text))
                elif isinstance(item, ThinkingDelta):
                    sink(ThinkingReceived(run_id=context.run_id, path=context.path, text=item.text))
                elif isinstance(item, ModelResponse):
                    response = item
        finally:
            if isinstance(items, AsyncGenerator):  # when a listener fails, the model has to stop
                await items.aclose()
        return response

    async def _answers(self, calls: Sequence[ToolCall]) -> Sequence[ToolResult]:
        if len(calls) == 1 or not self._policy.parallel_tools:
            return [await self._answer(call) for call in calls]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._answer(call)) for call in calls]
        return [task.result() for task in tasks]

    async def _answer(self, call: ToolCall) -> ToolResult:
        context, sink = self._context, self._context.sink
        if sink is None:
            return await self._tools.answer(call, context)
        sink(ToolCalled(run_id=context.run_id, path=context.path, call=call))
        started = perf_counter()
        result = await self._tools.answer(call, context)
        seconds = perf_counter() - started
        sink(ToolReturned(run_id=context.run_id, path=context.path, call=call, result=result, seconds=seconds))
        return result

    def _reject(self, message: AssistantMessage, reason: str) -> None:
        """Tells the model what is wrong with its answer, or gives up."""
        self._rejections += 1
        context = self._context
        if context.sink is not None:
            context.sink(
                OutputRejected(
                    run_id=context.run_id, path=context.path, attempt=self._rejections, message=message, reason=reason
                )
            )
        if self._rejections >= self._policy.max_attempts:
            raise OutputError(
                f"{self._name}: no valid {self._output.name} in {self._rejections} attempts: {reason}",
                self._failed(),
                message.text,
            )
        self._messages.append(
            UserMessage(f"That is not a valid {self._output.name}: {reason}. Answer again with the whole, corrected.")
        )

    def _result(self, output: T) -> RunResult[T]:
        return RunResult(output, messages=tuple(self._messages), tally=self._context.tally)

    def _failed(self) -> RunResult[None]:
        return RunResult(None, RunStatus.FAILED, tuple(self._messages), self._context.tally)
