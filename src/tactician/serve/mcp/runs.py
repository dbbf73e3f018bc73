"""Runs that clients start, and the answers of people to them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue
from pydantic_core import from_json

from tactician.agents import BaseRunnable
from tactician.context_format import write_json
from tactician.errors import ResponseError, RunNotFoundError, TacticianError
from tactician.platform import Platform
from tactician.platform.follow import RunClient, waits_for_replies
from tactician.runs import PendingRequest, RunContext, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import REQUEST_KIND, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import Respondent
from tactician.secrets import mask_secrets
from tactician.serve.answers import read_answer
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.inputs import (
    InputAnswer,
    build_input,
    create_capability_error,
    is_closed,
    name_inputs,
    read_input,
)
from tactician.serve.mcp.limits import MOST_ROUNDS, REMEMBERED
from tactician.serve.mcp.results import DECIDED_BY_PEOPLE, OutputForm, write_error, write_waiting

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
    """Runs of a platform that clients start, answer and look at: only runs of what is published.

    Args:
        platform: the platform.
        list_entries: returns the Runnables that are published now.
        is_stopping: tells that the server is being stopped.
        lets_callers_approve: true when the tool that answers may approve, and give answers that need a role.
    """

    def __init__(
        self,
        platform: Platform,
        list_entries: Callable[[], Iterable[RunEntry]],
        is_stopping: Callable[[], bool],
        *,
        lets_callers_approve: bool,
    ) -> None:
        self._platform = platform
        self._list_entries = list_entries
        self._is_stopping = is_stopping
        self._lets_callers_approve = lets_callers_approve
        self._client_runs: OrderedDict[str, RunEntry] = OrderedDict()

    async def start(self, entry: RunEntry, work: Work, caller: Caller) -> CallResult:
        """Run something published as far as it can go, and ask the person at the client where it waits."""
        result = await self._run(lambda context: work(caller.surround(context)), caller, entry)
        return await self._settle(entry, result, caller)

    async def continue_call(self, state: str, caller: Caller, entry: RunEntry | None = None) -> CallResult:
        """Continue the run of a call that has asked, with what the person answered.

        Args:
            state: state of the call, as `_ask_later` wrote it.
            caller: the client, with the answers.
            entry: what runs, if the call says it.

        Raises:
            RunNotFoundError: when the run no longer waits.
        """
        entry = entry or self._find_entry(await self._load(_read_state(state), caller))
        return self._write(entry, await self._continue(_read_state(state), caller, entry))

    async def respond(self, run_id: str, request_id: str, answer: JsonValue, caller: Caller) -> CallResult:
        """Answer a request of a run that waits, and continue the run as far as it can go.

        Raises:
            RunNotFoundError: when there is no such run of what is published, or it does not wait for that.
            ResponseError: when the answer is not valid, needs a role that the client lacks, or is none that a model
                may give.
        """
        entry = self._find_entry(await self._load(run_id, caller))
        self._remember(run_id, entry)
        pending = await entry.runnable.list_pending(run_id, context=self._platform.context())
        request = next((request for request in pending if request.id == request_id), None)
        if request is None:
            asked = ", ".join(repr(request.id) for request in pending)
            raise RunNotFoundError(f"The run {run_id} does not wait for {request_id!r}; it waits for {asked}.")
        if not self._may_callers_answer(request):
            return await self._ask_person(entry, run_id, request, caller)
        responses: dict[str, Response] = {request_id: read_answer(request, answer)}
        result = await self._resume(entry, run_id, responses, caller.find_respondent(request), caller)
        for still in result.pending:
            if still.id == request_id and still.problem is not None:
                raise ResponseError(f"{request_id}: the answer is not valid: {still.problem}")
        return await self._settle(entry, result, caller)

    def _may_callers_answer(self, request: PendingRequest) -> bool:
        """Return whether the tool may answer a request. A model calls it, whatever person it has asked."""
        if not request.is_for_people:
            return False
        return self._lets_callers_approve or (request.kind != "approval" and request.required_role is None)

    async def _ask_person(self, entry: RunEntry, run_id: str, request: PendingRequest, caller: Caller) -> CallResult:
        """Ask for a decision in a form, whatever a model has answered.

        Raises:
            ResponseError: when the client cannot ask a person who may decide.
        """
        if not (caller.can_answer(request) and caller.may_answer(request)):
            raise ResponseError(f"{RESPOND} cannot answer {request.id}. {DECIDED_BY_PEOPLE}")
        asked = await self._ask(entry, run_id, [request], caller)
        return await self._settle(entry, asked, caller) if isinstance(asked, RunResult) else asked

    async def show(self, run_id: str, caller: Caller) -> Mapping[str, object]:
        """Return where a run stands.

        Raises:
            RunNotFoundError: when there is no such run of what is published.
        """
        record = await self._load(run_id, caller)
        self._find_entry(record)
        header = record.header
        asked = (request.mask() for request in header.pending)
        requests = [{"id": request.id, "kind": request.kind, "prompt": request.prompt} for request in asked]
        return {
            "run_id": run_id,
            "name": record.name,
            "status": record.status.value,
            "requests": requests,
            "output": mask_secrets(header.output),
            "failure": None if header.failure is None else mask_secrets(header.failure),
        }

    async def _run(self, work: Work, caller: Caller, entry: RunEntry) -> RunResult[object]:
        """Do the work of a call. When the client cancels the call, the run is killed, unless it waits.

        When the server stops, a run in a durable store stays there for the program that continues it.
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
            inner_context = context.inside({Respondent: respondent})
            return await entry.runnable.resume(run_id, responses, context=inner_context)

        return await self._run(work, caller, entry)

    async def _take(
        self,
        entry: RunEntry,
        run_id: str,
        pending: Iterable[PendingRequest],
        filled: Mapping[str, InputAnswer],
        caller: Caller,
    ) -> RunResult[object]:
        """Continue a run with what the person at the client answered."""
        asked = {request.id: request for request in pending}
        responses = {name: read_input(asked[name], answer) for name, answer in filled.items()}
        respondent = caller.find_respondent(asked[next(iter(filled))])
        return await self._resume(entry, run_id, responses, respondent, caller)

    async def write_prompt(
        self, entry: RunEntry, arguments: Mapping[str, str], state: str | None, caller: Caller
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Write a prompt in a run, which asks the person at the client where it waits.

        Raises:
            MCPError: when the client cannot ask, or the person does not answer.
        """
        if state is None:
            result = await self._run(
                lambda context: self._start_prompt(entry, arguments, caller, context), caller, entry
            )
            asked = await self._advance(entry, result, caller)
        else:
            asked = await self._continue(_read_state(state), caller, entry)
        if isinstance(asked, types.InputRequiredResult):
            return asked
        if not isinstance(asked, RunResult):
            raise MCPError(types.INVALID_PARAMS, "The prompt asks a person, who has not answered at this client.")
        return types.GetPromptResult.model_validate(asked.output)

    async def _start_prompt(
        self, entry: RunEntry, arguments: Mapping[str, str], caller: Caller, context: RunContext
    ) -> RunResult[object]:
        return await entry.runnable.run(dict(arguments), context=caller.surround(context))

    async def _continue(self, run_id: str, caller: Caller, entry: RunEntry) -> CallResult | RunResult[object]:
        """Continue a run that has asked, until it ends or asks again."""
        self._remember(run_id, entry)
        pending = await entry.runnable.list_pending(run_id, context=self._platform.context())
        asked = await self._ask(entry, run_id, pending, caller)
        return await self._advance(entry, asked, caller) if isinstance(asked, RunResult) else asked

    async def _settle(self, entry: RunEntry, result: RunResult[object], caller: Caller) -> CallResult:
        """Return the result of a run. Ask the person at the client while it waits, if the client can."""
        return self._write(entry, await self._advance(entry, result, caller))

    def _write(self, entry: RunEntry, result: CallResult | RunResult[object]) -> CallResult:
        return entry.form.write(result.output) if isinstance(result, RunResult) else result

    async def _advance(
        self, entry: RunEntry, result: RunResult[object], caller: Caller
    ) -> CallResult | RunResult[object]:
        """Ask the person at the client while a run waits. Return the run that has ended, else what the client gets."""
        for _ in range(MOST_ROUNDS):
            if result.status is RunStatus.PAUSED:
                return write_error(f"{entry.runnable.name} is paused, as the run {result.run_id}.")
            if result.status is not RunStatus.WAITING:
                return result
            if waits_for_replies(result.pending):
                result = await self._wait_for_replies(entry, result.run_id, caller)
                continue
            asked = await self._ask(entry, result.run_id, result.pending, caller)
            if not isinstance(asked, RunResult):
                return asked
            result = asked
        return self._write_waiting(result.run_id, result.pending, f"It has asked {MOST_ROUNDS} times.")

    async def _wait_for_replies(self, entry: RunEntry, run_id: str, caller: Caller) -> RunResult[object]:
        """Return the result of a run that other programs continue with their replies."""
        caller.run_id = run_id
        client = RunClient(self._platform, wake=lambda: None)
        return await self._run(lambda _: client.wait_for_result(run_id), caller, entry)

    async def _ask(
        self, entry: RunEntry, run_id: str, pending: Sequence[PendingRequest], caller: Caller
    ) -> CallResult | RunResult[object]:
        """Ask the person at the client. Return the run continued with an answer, else what the client gets.

        Raises:
            MCPError: when a client of the new era lacks what the run needs of it, and nobody else has.
        """
        if not (shown := [request for request in pending if caller.can_answer(request)]):
            return await self._refuse(run_id, pending, caller)
        if not (open_requests := [request for request in shown if caller.may_answer(request)]):
            return self._write_waiting(run_id, pending, _NO_ROLE)
        answers = caller.take_answers(name_inputs(open_requests))
        if not answers and caller.asks_later:
            return self._ask_later(run_id, open_requests)
        answers = answers or {open_requests[0].id: await caller.ask(open_requests[0])}
        if any(map(is_closed, answers.values())):
            return self._write_waiting(run_id, pending, _CLOSED)
        return await self._take(entry, run_id, open_requests, answers, caller)

    async def _refuse(self, run_id: str, pending: Sequence[PendingRequest], caller: Caller) -> CallResult:
        """Return what a client gets that can answer nothing. A run that needs the client itself is of no use."""
        if not all(request.client_request for request in pending):
            return self._write_waiting(run_id, pending, _NO_FORMS)
        await self._kill(run_id)
        error = create_capability_error(pending)
        if caller.asks_later:
            raise error
        return write_error(error.error.message)

    def _ask_later(self, run_id: str, pending: Iterable[PendingRequest]) -> types.InputRequiredResult:
        """Return the forms for a client that calls again with the answers. The state is sealed on its way."""
        forms = {key: build_input(request) for key, request in name_inputs(pending).items()}
        return types.InputRequiredResult(input_requests=forms, request_state=write_json({"run_id": run_id}))

    def _write_waiting(self, run_id: str, pending: Iterable[PendingRequest], why: str) -> types.CallToolResult:
        return write_waiting(run_id, pending, RESPOND, self._may_callers_answer, why)

    async def _load(self, run_id: str, caller: Caller) -> RunRecord:
        record = await RunStore(self._platform.store).load(run_id)
        if record is None or record.kind == REQUEST_KIND or not caller.sees(record):
            raise RunNotFoundError(f"There is no run with the id {run_id!r} that waits or is kept.")
        return record

    def _remember(self, run_id: str, entry: RunEntry) -> None:
        self._client_runs[run_id] = entry
        self._client_runs.move_to_end(run_id)
        if len(self._client_runs) > REMEMBERED:
            self._client_runs.popitem(last=False)

    def _find_entry(self, record: RunRecord) -> RunEntry:
        """Return what runs: as it was started here, else the only published Runnable of its name, else the agent.

        Raises:
            RunNotFoundError: when it is not published.
        """
        if (client_run := self._client_runs.get(record.run_id)) is not None:
            return client_run
        entries = [entry for entry in self._list_entries() if entry.runnable.name == record.name]
        if not entries:
            raise RunNotFoundError(f"There is no run with the id {record.run_id!r} of what is published here.")
        if len(entries) == 1:
            return entries[0]
        agent = cast("BaseRunnable[object]", self._platform.find_agent(record.name))  # with all of its goals
        return RunEntry(agent, OutputForm((), may_wait=True))


def _read_state(state: str) -> str:
    """Return the id of the run in the state of a call."""
    return str(from_json(state)["run_id"])
