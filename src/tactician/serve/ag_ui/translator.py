"""Events of a run as the events of AG-UI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TokenUsage,
)

from tactician.events import Event
from tactician.events.encoding import encode
from tactician.llm import Usage
from tactician.llm.usage import UsageTally
from tactician.loop import (
    TextReceived,
    ThinkingReceived,
    ToolAnswered,
    ToolCalled,
    ToolReturned,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.loop.answer_text import AnswerReader
from tactician.process import MessageSent, PlanMade, ProcessEnded, ProcessStarted
from tactician.runs import ModelReturned, PendingRequest, RunEnded, RunResult, RunStarted
from tactician.serve.ag_ui.interrupts import create_interrupt
from tactician.serve.ag_ui.messages import OpenMessages, write_call, write_result, write_text
from tactician.serve.ag_ui.shared_state import SharedState
from tactician.serve.ag_ui.steps import Steps
from tactician.serve.ag_ui.subagents import Subagents, name_call, name_request_call

COST: Final = "tactician.cost"
RUN: Final = "tactician.run"
"""Name of the event with the id of the run on this server."""


class Spending:
    """Tokens and dollars of a run of a client. A run that resumes another counts only its own."""

    def __init__(self) -> None:
        self._tally = UsageTally()

    def add(self, usage: Usage) -> CustomEvent:
        """Count the usage of a call of a model; return the event that tells the client."""
        self._tally.add(usage)
        total = self._tally.total
        return CustomEvent(
            name=COST,
            value={
                "model": usage.model,
                "cost": usage.cost,
                "total_cost": total.cost,
                "input_tokens": total.input_tokens,
                "output_tokens": total.output_tokens,
            },
        )

    def list_usage(self) -> list[TokenUsage] | None:
        """Return the usage of each model; `None` when no model was called."""
        return [_show(model, usage) for model, usage in self._tally.by_model.items()] or None


def _show(model: str, usage: Usage) -> TokenUsage:
    provider, _, name = model.rpartition(":")
    return TokenUsage(
        provider=provider or None,
        model=name or None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        reasoning_tokens=usage.reasoning_tokens or None,
        cached_input_tokens=usage.cache_read_tokens or None,
        cache_write_input_tokens=usage.cache_write_tokens or None,
    )


class EventTranslator:
    """Translator of the events of a run of a client.

    Args:
        request: what the client has sent.
    """

    def __init__(self, request: RunAgentInput) -> None:
        self._request = request
        self._subagents = Subagents()
        self._steps = Steps()
        self._messages = OpenMessages()
        self._state = SharedState(request.state)
        self._frontend = frozenset(tool.name for tool in request.tools or ())
        self._is_late = False
        self._spending = Spending()
        self._turns: dict[str, TurnStarted] = {}
        self._streamed: set[tuple[str, type[Event]]] = set()
        self._calls: dict[str, str] = {}
        self._known_calls: set[str] = set()
        self._reader = AnswerReader()

    @property
    def run_id(self) -> str:
        """Id of the run on this server; empty until it has started."""
        return self._subagents.root_id

    def resume(self, run_id: str, pending: Iterable[PendingRequest]) -> None:
        """Expect the events of a run that waited for requests: the client knows the calls of tools in them."""
        names = (name_request_call(run_id, request) for request in pending)
        self._known_calls.update(name for name in names if name is not None)
        self._state.resume()

    def come_late(self) -> None:
        """Expect the events of a run that another request has started: text comes as a whole."""
        self._is_late = True

    def start(self) -> BaseEvent:
        """Return the first event."""
        request = self._request
        return RunStartedEvent(
            thread_id=request.thread_id,
            run_id=request.run_id,
            parent_run_id=request.parent_run_id,
            protocol_version=PROTOCOL_VERSION,
        )

    def translate(self, event: Event) -> Iterator[BaseEvent]:
        """Yield the events for the client of an event of the run."""
        if isinstance(event, RunStarted | ProcessStarted):
            yield from self._start_run(event)
        if not self._is_late:
            self._reader.read(event)
        owner = self._subagents.follow(event)
        yield from self._steps.follow(event, owner)
        match event:
            case PlanMade():
                yield from self._state.set_plan(event.plan, owner)
            case MessageSent():
                yield from write_text(event.message.text, owner)
            case ProcessEnded() | RunEnded():
                yield from self._end_run(event)
            case ModelReturned():
                yield self._spending.add(event.usage)
            case _:
                yield from self._translate_turn(event, owner)

    def finish(self, result: RunResult[object]) -> Iterator[BaseEvent]:
        """Yield the last events of a run that has completed, or waits."""
        yield from self._close_all()
        if not result.pending:
            yield from self._write_answer(result.output)
            yield self._finish(RunFinishedSuccessOutcome(), encode(result.output))
            return
        yield from self._wait(result.run_id, result.pending)

    def _wait(self, run_id: str, pending: Iterable[PendingRequest]) -> Iterator[BaseEvent]:
        """Yield the last events of a run that waits: for people, or only for tools that the application calls."""
        interrupts: list[Interrupt] = []
        calls: list[str] = []
        for request in pending:
            owner, call_id = self._subagents.find(request.path), name_request_call(run_id, request)
            if request.call is not None and call_id is not None and call_id not in self._known_calls:
                yield from write_call(request.call, call_id, None, owner)
            if call_id is not None and self._is_frontend(request):
                calls.append(call_id)
            elif request.is_for_people:
                interrupts.append(create_interrupt(run_id, request, call_id, owner))
        if self._state.has_begun:
            yield self._state.snapshot()
        if interrupts:
            yield self._finish(RunFinishedInterruptOutcome(interrupts=interrupts))
        else:
            yield self._finish(RunFinishedSuccessOutcome(pending_tool_call_ids=calls))

    def _is_frontend(self, request: PendingRequest) -> bool:
        return request.kind == "tool" and request.call is not None and request.call.name in self._frontend

    def cancel(self) -> Iterator[BaseEvent]:
        """Yield the last events of a run that somebody has ended."""
        yield from self._close_all()
        yield self._finish(RunFinishedCancelledOutcome())

    def fail(self, message: str, code: str) -> BaseEvent:
        """Return the last event of a run that has failed."""
        return RunErrorEvent(message=message, code=code, usage=self._spending.list_usage())

    def _start_run(self, event: RunStarted | ProcessStarted) -> Iterator[BaseEvent]:
        is_first = not self.run_id
        yield from self._subagents.start(event, self._calls.get(event.span_id or ""))
        if is_first:
            yield CustomEvent(name=RUN, value={"run_id": event.run_id, "agent": event.path[-1]})

    def _end_run(self, event: RunEnded | ProcessEnded) -> Iterator[BaseEvent]:
        yield from self._messages.close(event.run_id)
        yield from self._steps.finish_run(event.run_id)
        error = event.error if isinstance(event, RunEnded) else event.failure
        yield from self._subagents.end(event, event.status, error)

    def _translate_turn(self, event: Event, owner: str | None) -> Iterator[BaseEvent]:
        match event:
            case TurnStarted():
                self._turns[event.run_id] = event
                self._streamed -= {(event.run_id, TextReceived), (event.run_id, ThinkingReceived)}
            case TextReceived() if self._is_shown(event, owner):
                self._streamed.add((event.run_id, type(event)))
                yield from self._messages.add_text(event.run_id, self._find_turn(event.run_id), owner, event.text)
            case ThinkingReceived() if event.text and not self._is_late:
                self._streamed.add((event.run_id, type(event)))
                yield from self._messages.add_reasoning(event.run_id, owner, event.text)
            case TurnCompleted():
                yield from self._write_rest(event, owner)
                yield from self._messages.close(event.run_id)
                yield self._spending.add(event.response.usage)
            case TurnFailed():
                yield from self._messages.close(event.run_id)
            case ToolCalled():
                yield from self._call_tool(event, owner)
            case ToolReturned():
                yield write_result(event.result, name_call(self.run_id, event.path, event.call.id), owner)
                self._calls.pop(event.span_id or "", None)
            case ToolAnswered() if event.call.name not in self._frontend:  # whose result the client itself sent
                yield write_result(event.result, name_call(self.run_id, event.path, event.call.id), owner)

    def _write_rest(self, event: TurnCompleted, owner: str | None) -> Iterator[BaseEvent]:
        """Yield the events of an answer of a model that did not come in pieces."""
        message, turn = event.response.message, self._turns.get(event.run_id)
        if message.thinking and (event.run_id, ThinkingReceived) not in self._streamed:
            yield from self._messages.add_reasoning(event.run_id, owner, message.thinking)
        is_text = bool(message.text) and not _is_object(turn) and not _may_be_refused(turn)
        if is_text and owner is not None and (event.run_id, TextReceived) not in self._streamed:
            yield from self._messages.add_text(event.run_id, self._find_turn(event.run_id), owner, message.text)

    def _call_tool(self, event: ToolCalled, owner: str | None) -> Iterator[BaseEvent]:
        call_id = self._calls[event.id] = name_call(self.run_id, event.path, event.call.id)
        if call_id not in self._known_calls:  # as a call that waited for an approval is
            self._known_calls.add(call_id)
            yield from write_call(event.call, call_id, self._find_turn(event.run_id), owner)

    def _is_shown(self, event: TextReceived, owner: str | None) -> bool:
        """Return whether text is for people: text of the answer, and of subagents while nobody may refuse it."""
        turn = self._turns.get(event.run_id)
        if self._is_late or not event.text or _is_object(turn):
            return False
        return not event.is_internal if owner is None else not _may_be_refused(turn)

    def _find_turn(self, run_id: str) -> str:
        """Return the id of the message of the latest turn of a run."""
        turn = self._turns.get(run_id)
        return run_id if turn is None else turn.id

    def _write_answer(self, output: object) -> Iterator[BaseEvent]:
        """Yield the events of an answer that has not come in pieces."""
        if (answer := self._reader.finish(output).strip("\n")).strip():
            yield from write_text(answer)

    def _close_all(self) -> Iterator[BaseEvent]:
        yield from self._messages.close_all()
        yield from self._steps.finish_all()
        yield from self._subagents.end_all()

    def _finish(self, outcome: RunFinishedOutcome, result: object = None) -> RunFinishedEvent:
        return RunFinishedEvent(
            thread_id=self._request.thread_id,
            run_id=self._request.run_id,
            outcome=outcome,
            result=result,
            usage=self._spending.list_usage(),
        )


def _is_object(turn: TurnStarted | None) -> bool:
    """Return whether the text of a turn is the JSON of an object."""
    return turn is not None and turn.request.output is not None


def _may_be_refused(turn: TurnStarted | None) -> bool:
    """Return whether a guardrail or a person may still refuse or change the text of a turn."""
    return turn is not None and turn.is_checked
