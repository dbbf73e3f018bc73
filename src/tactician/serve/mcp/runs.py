"""Runs that clients start, and the answers of people to them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import anyio
import mcp_types as types
from pydantic import JsonValue
from pydantic_core import from_json

from tactician.agents import BaseRunnable
from tactician.context_format import write_json
from tactician.errors import ResponseError, RunNotFoundError, TacticianError
from tactician.platform import Platform
from tactician.runs import PendingRequest, Respondent, Response, RunContext, RunRecord, RunResult, RunStatus, RunStore
from tactician.serve.answers import read_answer
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.forms import build_elicitation, read_elicitation
from tactician.serve.mcp.limits import MOST_ROUNDS, REMEMBERED
from tactician.serve.mcp.results import OutputForm, write_error, write_waiting

CallResult: TypeAlias = types.CallToolResult | types.InputRequiredResult
Work: TypeAlias = Callable[[RunContext], Awaitable[RunResult[object]]]
RESPOND: Final = "respond"
_CANCELLED: Final = "the MCP client cancelled the call"
_NO_FORMS: Final = "This client cannot ask a person."
_CLOSED: Final = "The person closed the form without an answer."
_NO_ROLE: Final = "An answer needs a role that this client does not have."
_SECONDS_TO_KILL: Final = 5.0


@dataclass(frozen=True)
class RunEntry:
    """Runnable that clients may run, and the form of its output."""

    runnable: BaseRunnable[object]
    form: OutputForm


class ClientRuns:
    """Runs of a platform that clients start, answer and look at: those of what is published, and no others.

    Args:
        platform: the platform.
        list_entries: returns the Runnables that are published now.
        is_stopping: tells that the server is being stopped.
    """

    def __init__(
        self, platform: Platform, list_entries: Callable[[], Iterable[RunEntry]], is_stopping: Callable[[], bool]
    ) -> None:
        self._platform = platform
        self._list_entries = list_entries
        self._is_stopping = is_stopping
        self._known: OrderedDict[str, RunEntry] = OrderedDict()

    async def start(self, entry: RunEntry, work: Work, caller: Caller) -> CallResult:
        """Run something published as far as it can go, and ask the person at the client where it waits."""
        result = await self._run(lambda context: work(caller.surround(context)), caller, entry)
        return await self._settle(entry, result, caller)

    async def continue_call(
        self, state: str, filled: Mapping[str, types.ElicitResult], caller: Caller, entry: RunEntry | None = None
    ) -> CallResult:
        """Continue the run of a call that has asked, with what the person answered.

        Args:
            state: state of the call, as `_ask_later` wrote it.
            filled: the answers, by the ids of the requests.
            caller: the client.
            entry: what runs, if the call says it.

        Raises:
            RunNotFoundError: when the run no longer waits.
        """
        run_id = str(from_json(state)["run_id"])
        entry = entry or self._find_entry(await self._load(run_id))
        self._remember(run_id, entry)
        pending = await entry.runnable.list_pending(run_id, context=self._platform.context())
        answers = {request.id: filled[request.id] for request in pending if request.id in filled}
        if any(answer.action == "cancel" for answer in answers.values()):
            return write_waiting(run_id, pending, RESPOND, _CLOSED)
        if not answers:
            return self._ask_later(run_id, pending)
        responses = {request.id: answers[request.id] for request in pending if request.id in answers}
        result = await self._take(entry, run_id, pending, responses, caller)
        return await self._settle(entry, result, caller)

    async def respond(self, run_id: str, request_id: str, answer: JsonValue, caller: Caller) -> CallResult:
        """Answer a request of a run that waits, and continue the run as far as it can go.

        Raises:
            RunNotFoundError: when there is no such run of what is published, or it does not wait for that.
            ResponseError: when the answer is not valid, or the client lacks the role that it needs.
        """
        entry = self._find_entry(await self._load(run_id))
        self._remember(run_id, entry)
        pending = await entry.runnable.list_pending(run_id, context=self._platform.context())
        request = next((request for request in pending if request.id == request_id), None)
        if request is None:
            asked = ", ".join(repr(request.id) for request in pending)
            raise RunNotFoundError(f"The run {run_id} does not wait for {request_id!r}; it waits for {asked}.")
        responses: dict[str, Response] = {request_id: read_answer(request, answer)}
        result = await self._resume(entry, run_id, responses, caller.find_respondent(request), caller)
        for still in result.pending:
            if still.id == request_id and still.problem is not None:
                raise ResponseError(f"{request_id}: the answer is not valid: {still.problem}")
        return await self._settle(entry, result, caller)

    async def show(self, run_id: str) -> Mapping[str, object]:
        """Return where a run stands.

        Raises:
            RunNotFoundError: when there is no such run of what is published.
        """
        record = await self._load(run_id)
        self._find_entry(record)
        header = record.header
        requests = [{"id": request.id, "kind": request.kind, "prompt": request.prompt} for request in header.pending]
        return {
            "run_id": run_id,
            "name": record.name,
            "status": record.status.value,
            "requests": requests,
            "output": header.output,
            "failure": header.failure,
        }

    async def _run(self, work: Work, caller: Caller, entry: RunEntry) -> RunResult[object]:
        """Do the work of a call. When the client cancels the call, the run is killed, unless it waits.

        When the server is stopped, a run in a durable store is left to whoever continues it.
        """
        try:
            async with caller.listen(self._platform.context()) as context:
                result = await work(context)
        except asyncio.CancelledError:
            if caller.run_id is not None and not self._is_stopping():
                with anyio.move_on_after(_SECONDS_TO_KILL, shield=True):
                    await self._kill(caller.run_id)
            raise
        if result.status is RunStatus.WAITING:
            self._remember(result.run_id, entry)
        return result

    async def _kill(self, run_id: str) -> None:
        with suppress(TacticianError):  # it has ended, or is kept nowhere
            await self._platform.kill(run_id, _CANCELLED)

    async def _resume(
        self,
        entry: RunEntry,
        run_id: str,
        responses: Mapping[str, Response],
        respondent: Respondent,
        caller: Caller,
    ) -> RunResult[object]:
        caller.run_id = run_id

        async def work(context: RunContext) -> RunResult[object]:
            around = context.inside({Respondent: respondent})
            return await entry.runnable.resume(run_id, responses, context=around)

        return await self._run(work, caller, entry)

    async def _take(
        self,
        entry: RunEntry,
        run_id: str,
        pending: Iterable[PendingRequest],
        filled: Mapping[str, types.ElicitResult],
        caller: Caller,
    ) -> RunResult[object]:
        """Continue a run with what the person at the client answered."""
        asked = {request.id: request for request in pending}
        responses = {name: read_elicitation(asked[name], answer) for name, answer in filled.items()}
        respondent = caller.find_respondent(asked[next(iter(filled))])
        return await self._resume(entry, run_id, responses, respondent, caller)

    async def _settle(self, entry: RunEntry, result: RunResult[object], caller: Caller) -> CallResult:
        """Return the result of a run. Ask the person at the client while it waits, if the client can."""
        for _ in range(MOST_ROUNDS):
            if result.status is RunStatus.PAUSED:
                return write_error(f"{entry.runnable.name} is paused, as the run {result.run_id}.")
            if result.status is not RunStatus.WAITING:
                return entry.form.write(result.output)
            if not caller.can_ask:
                return write_waiting(result.run_id, result.pending, RESPOND, _NO_FORMS)
            if not (open_requests := [request for request in result.pending if caller.may_answer(request)]):
                return write_waiting(result.run_id, result.pending, RESPOND, _NO_ROLE)
            if caller.asks_later:
                return self._ask_later(result.run_id, open_requests)
            request = open_requests[0]
            answer = await caller.ask(request)
            if answer.action == "cancel":
                return write_waiting(result.run_id, result.pending, RESPOND, _CLOSED)
            result = await self._take(entry, result.run_id, [request], {request.id: answer}, caller)
        return write_waiting(result.run_id, result.pending, RESPOND, f"It has asked {MOST_ROUNDS} times.")

    def _ask_later(self, run_id: str, pending: Iterable[PendingRequest]) -> types.InputRequiredResult:
        """Return the forms for a client that calls again with the answers. The state is sealed on its way."""
        forms: types.InputRequests = {
            request.id: types.ElicitRequest(params=build_elicitation(request)) for request in pending
        }
        return types.InputRequiredResult(input_requests=forms, request_state=write_json({"run_id": run_id}))

    async def _load(self, run_id: str) -> RunRecord:
        record = await RunStore(self._platform.store).load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} that waits or is kept.")
        return record

    def _remember(self, run_id: str, entry: RunEntry) -> None:
        self._known[run_id] = entry
        self._known.move_to_end(run_id)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _find_entry(self, record: RunRecord) -> RunEntry:
        """Return what runs: as it was started here, else the only published Runnable of its name, else the agent.

        Raises:
            RunNotFoundError: when it is not published.
        """
        if (known := self._known.get(record.run_id)) is not None:
            return known
        entries = [entry for entry in self._list_entries() if entry.runnable.name == record.name]
        if not entries:
            raise RunNotFoundError(f"There is no run with the id {record.run_id!r} of what is published here.")
        if len(entries) == 1:
            return entries[0]
        agent = cast("BaseRunnable[object]", self._platform.find_agent(record.name))  # with all of its goals
        return RunEntry(agent, OutputForm((), may_wait=True))
