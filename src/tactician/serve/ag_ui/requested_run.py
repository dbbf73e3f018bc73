"""Run that a request of a client is about: a new run, one that waits for answers, or one that exists already."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from hashlib import sha256
from typing import Final

from ag_ui.core import RunAgentInput

from tactician.agents import BaseRunnable
from tactician.conversation import ChatUser
from tactician.errors import AgentNotFoundError, ResponseError, RunNotFoundError, TacticianError
from tactician.events import Event
from tactician.people.person import Person
from tactician.platform.follow import waits_for_replies
from tactician.runs import PendingRequest, RunCompleted, RunContext, Runnable, RunResult
from tactician.runs.life.creation import CallerTools, RunKey
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import REQUEST_KIND, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import Respondent, has_answer
from tactician.runs.runnable import stream_events
from tactician.serve.ag_ui.conversation import read_input
from tactician.serve.ag_ui.frontend_tools import find_answers, find_left_run, read_tools
from tactician.serve.ag_ui.interrupts import read_resumption
from tactician.serve.ag_ui.translator import EventTranslator
from tactician.serve.api.forms.visibility import sees_run
from tactician.serve.api.serving.operations import Call

_LEFT: Final = "the conversation went on without the result of its tool"


class RequestedRun:
    """Run that a request of a client is about.

    A request whose thread and run have the ids of an earlier one of the same person gets that run, as it stands.

    Args:
        call: the call of the endpoint.
        request: what the client has sent.
        agent: the agent.

    Raises:
        ApiError: when the request has no input, or a tool that no model could be given.
    """

    def __init__(self, call: Call, request: RunAgentInput, agent: Runnable) -> None:
        self._server, self._person = call.server, call.person
        self._request, self._agent = request, agent
        self._tools = read_tools(request.tools or ())
        self._answers = find_answers(request)
        self._input = None if request.resume else read_input(request, agent)
        self._key = _create_key(call.person.name, agent.name, request.thread_id, request.run_id)
        self._runs = RunStore(call.server.platform.store)

    async def events(self, translator: EventTranslator) -> AsyncGenerator[Event]:
        """Yield the events of the run; the last is `RunCompleted`.

        Raises:
            TacticianError: the error of the run, after the events that came before it.
        """
        if (answered_id := await self._find_answered()) is not None:
            translator.come_late()
            stream = self._server.runs.follow(answered_id)
        else:
            stream = self._server.runs.start_or_follow(self._key, lambda: self._begin(translator), translator.come_late)
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, RunCompleted) and waits_for_replies(event.result.pending):
                    yield replace(event, result=await self._server.runs.wait_for_result(event.result.run_id))
                    return
                yield event

    def _begin(self, translator: EventTranslator) -> AsyncGenerator[Event]:
        return stream_events(lambda context: self._work(context, translator), self._context())

    def _context(self) -> RunContext:
        context = self._server.platform.context()
        return context.inside({CallerTools: CallerTools(self._tools)}) if self._tools else context

    async def _find_answered(self) -> str | None:
        """Return the id of the run that has taken the answers of the same request before, if any."""
        record = await self._find_record(self._find_target())
        if record is None:
            return None
        is_known = has_answer((await self._runs.load_state(record)).tree, self._key)
        return record.run_id if is_known else None

    def _find_target(self) -> str | None:
        """Return the id of the run that the request has answers for, if any."""
        if self._request.resume:
            with suppress(ResponseError):
                return read_resumption(self._request.resume).run_id
        return None if self._answers is None else self._answers.run_id

    async def _find_record(self, run_id: str | None) -> RunRecord | None:
        """Return the record of a run of the agent that the person may see, or `None`."""
        record = None if not run_id else await self._runs.load(run_id)
        if record is None or record.name != self._agent.name or record.kind == REQUEST_KIND:
            return None
        return record if sees_run(self._person, record.header.user) else None

    async def _work(self, context: RunContext, translator: EventTranslator) -> RunResult[object]:
        if self._request.resume or await self._list_calls():
            return await self._resume(context, translator)
        await self._end_left_run()
        inside: dict[type, object] = {RunKey: RunKey(self._key)}
        if (user := self._person.user) is not None:
            inside[ChatUser] = user
        return await self._agent.run(self._input, context=context.inside(inside))

    async def _list_calls(self) -> Mapping[str, Response]:
        """Return the results for calls that the run waits for, by the ids of its requests."""
        record = None if self._answers is None else await self._find_record(self._answers.run_id)
        if record is None or self._answers is None or not record.can_resume:
            return {}
        return self._answers.read(record.header.pending)

    async def _end_left_run(self) -> None:
        """End a run that waits for tools of the application, when the conversation has gone on without it."""
        record = await self._find_record(find_left_run(self._request))
        if record is None or not record.can_resume:
            return
        if all(request.kind == "tool" for request in record.header.pending):
            with suppress(TacticianError):
                await self._server.runs.cancel(record.run_id, _LEFT)

    async def _resume(self, context: RunContext, translator: EventTranslator) -> RunResult[object]:
        agent = self._agent
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{agent.name!r} cannot continue a run.")
        results = await self._list_calls()
        run_id = self._find_target()
        if run_id is None:
            run_id = read_resumption(self._request.resume or ()).run_id
        if await self._find_record(run_id) is None:
            raise RunNotFoundError(f"There is no run of {agent.name} with the id {run_id!r}.")
        pending = await agent.list_pending(run_id, context=context)
        responses = {**results, **self._read_entries(pending, results)}
        translator.resume(run_id, pending)
        result: RunResult[object] | None = None
        for respondent, asked in _list_respondents(self._person, self._key, pending):
            answers = {name: responses[name] for name in asked if name in responses}
            result = await agent.resume(run_id, answers, context=context.inside({Respondent: respondent}))
        if result is None:
            raise ResponseError(f"The run {run_id} does not wait for anything.")
        return result

    def _read_entries(
        self, pending: tuple[PendingRequest, ...], results: Mapping[str, Response]
    ) -> Mapping[str, Response]:
        if not self._request.resume:
            return {}
        return read_resumption(self._request.resume).read(pending, self._server.clock.time(), results)


def _create_key(*parts: str) -> str:
    """Return the idempotency key of a request; callers that send different messages have different keys."""
    return f"ag-ui {sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"


def _list_respondents(
    person: Person, key: str, pending: tuple[PendingRequest, ...]
) -> Iterator[tuple[Respondent, frozenset[str]]]:
    """Yield the roles that the requests need, as far as the person has them, with the ids of the requests."""
    for role in dict.fromkeys(request.required_role for request in pending):
        asked = frozenset(request.id for request in pending if request.required_role == role)
        yield Respondent(person.find_role(role), person.name, key), asked
