"""Operations on runs: started, looked at, answered, continued and ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from tactician.errors import RunConflictError, StoredStateError
from tactician.platform import RunView
from tactician.runs import PendingRequest, Runnable, RunStatus, approve, reject
from tactician.serve.api.feed import EventFeed, FeedEntry
from tactician.serve.api.forms import AnswerForm, RunDetailsForm, RunForm, RunsForm, StartForm, StepsForm
from tactician.serve.api.operations import ApiOperation, Call
from tactician.serve.api.problems import ApiError
from tactician.serve.api.sse import COMMENT, format_event
from tactician.serve.api.views import find_schemas, list_input_types, show_run, show_step, show_tree

_MOST_RUNS: Final = 10_000
_PAUSES: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds between attempts to answer a run that its worker still holds."""


async def start_run(call: Call) -> RunForm:
    """Start a run of an agent, and return it at once: its events, or its status, say how it ends."""
    platform, form = call.server.platform, await call.read(StartForm)
    agent = _find_agent(call)
    deadline = None if form.seconds is None else datetime.now(UTC) + timedelta(seconds=form.seconds)
    run_id = await platform.enqueue(
        agent,
        _read_input(agent, form),
        priority=form.priority,
        deadline=deadline,
        idempotency_key=form.idempotency_key,
    )
    call.server.notice()
    return await _show(call, run_id)


async def list_runs(call: Call) -> RunsForm:
    """Return runs, the newest first."""
    query = call.request.query_params
    limit = call.find_number("limit", 100, _MOST_RUNS)
    known = {status.value for status in RunStatus}
    if unknown := set(query.getlist("status")) - known:
        raise ApiError(422, f"status: {', '.join(sorted(unknown))[:100]} is none of {', '.join(sorted(known))}.")
    runs = await call.server.platform.runs(
        status=query.getlist("status"), names=query.getlist("agent"), limit=_MOST_RUNS
    )
    return RunsForm(runs=tuple(show_run(run, call.person) for run in runs[::-1][:limit]))


async def list_waiting_runs(call: Call) -> RunsForm:
    """Return the runs that wait for people, oldest first."""
    runs = await call.server.platform.list_waiting_runs(call.find_number("limit", 1000, _MOST_RUNS))
    shown = (show_run(run, call.person) for run in runs)
    role = call.request.query_params.get("role")
    return RunsForm(
        runs=tuple(run for run in shown if role is None or any(request.role == role for request in run.pending))
    )


async def show_run_status(call: Call) -> RunForm:
    """Return a run as it stands, with its result once it has completed."""
    return await _show(call, call.find_id("run_id"))


async def show_run_details(call: Call) -> RunDetailsForm:
    """Return a run with its history, blackboard, messages, and the runs inside it."""
    run_id = call.find_id("run_id")
    tree = await call.server.platform.tree(run_id)
    return show_tree(tree, call.person, await _find_result(call, tree.run))


async def list_steps(call: Call) -> StepsForm:
    """Return the steps of a run, oldest first."""
    steps = await call.server.platform.steps(call.find_id("run_id"))
    return StepsForm(steps=tuple(map(show_step, steps)))


async def answer_request(call: Call) -> RunForm:
    """Answer a request that a run waits for; the run continues."""
    run_id, form = call.find_id("run_id"), await call.read(AnswerForm)
    request = await _find_request(call, run_id, form.request)
    role = call.person.find_role(request.required_role)
    if request.required_role is not None and role is None:
        raise ApiError(403, f"This needs the role {request.required_role!r}.")
    await call.server.begin(_respond(call, run_id, form, role))
    return await _show(call, run_id)


async def _respond(call: Call, run_id: str, form: AnswerForm, role: str | None) -> None:
    """Give an answer to a run. Its worker may hold it for a moment after it has begun to wait."""
    for pause in _PAUSES:
        try:
            await call.server.platform.respond(
                run_id, form.request, _read_response(form), role=role, by=call.person.name
            )
        except RunConflictError:
            await _find_request(call, run_id, form.request)
            await asyncio.sleep(pause)
        else:
            return
    raise RunConflictError(f"The run {run_id} is held by a worker: answer again.")


async def _find_request(call: Call, run_id: str, request_id: str) -> PendingRequest:
    view = await _find(call, run_id)
    request = next((request for request in view.pending if request.id == request_id), None)
    if request is None or request.is_answered:
        raise ApiError(409, f"The run {run_id} does not wait for {request_id!r}.")
    return request


async def resume_run(call: Call) -> RunForm:
    """Continue a run that is paused, stuck or interrupted."""
    run_id = call.find_id("run_id")
    await _find(call, run_id)
    await call.server.begin(call.server.platform.resume(run_id))
    return await _show(call, run_id)


async def cancel_run(call: Call) -> RunForm:
    """End a run for good, wherever it runs."""
    run_id = call.find_id("run_id")
    if RunStatus((await _find(call, run_id)).status).is_terminal:
        raise RunConflictError(f"The run {run_id} has ended already.")
    await call.server.platform.kill(run_id, f"cancelled by {call.person.name}")
    return await _show(call, run_id)


async def stream_run(call: Call) -> Response:
    """Send the events of a run: those that are kept after `Last-Event-ID`, or all of them, and those to come."""
    run_id = call.find_id("run_id")
    await _find(call, run_id)
    return _stream(call, run_id)


async def stream_all(call: Call) -> Response:
    """Send the events of all runs."""
    return _stream(call, None)


def _stream(call: Call, run_id: str | None) -> Response:
    if call.server.streams.is_full:
        raise ApiError(503, "Too many streams are open.", {"retry-after": "5"})
    return call.server.streams.respond(_events(call, run_id, _find_place(call)))


async def _events(call: Call, run_id: str | None, after: int) -> AsyncGenerator[str]:
    """Yield events as text. That of a run ends with the run."""
    feed = call.server.feed
    yield f"retry: 1000\nid: {feed.session}-{after}\n\n"
    async with aclosing(feed.read(run_id, after)) as entries:
        if run_id is None or not await _has_ended(call, run_id):
            async for entry in entries:
                after = after if entry is None else entry.number
                yield COMMENT if entry is None else _format(feed, entry)
                is_its_own = entry is None or entry.event.run_id == run_id
                if run_id is not None and is_its_own and await _has_ended(call, run_id):
                    break
    if run_id is not None and await _has_ended(call, run_id):
        for late in feed.replay(run_id, after):
            yield _format(feed, late)
        yield format_event((await _show(call, run_id)).model_dump_json(), kind="end")


def _format(feed: EventFeed, entry: FeedEntry) -> str:
    return format_event(entry.text, kind=entry.event.type, id=f"{feed.session}-{entry.number}")


async def _has_ended(call: Call, run_id: str) -> bool:
    return RunStatus((await _find(call, run_id)).status).is_terminal


def _find_place(call: Call) -> int:
    """Return the number of the last event that the caller has seen; 0 when it saw another session of the server."""
    text = call.request.headers.get("last-event-id") or call.request.query_params.get("after") or ""
    session, _, number = text.rpartition("-")
    is_known = session == call.server.feed.session and number.isascii() and number.isdecimal() and len(number) < 18
    return int(number) if is_known else 0


def _find_agent(call: Call) -> Runnable:
    agent_id = call.find_id("agent_id")
    platform = call.server.platform
    agent = platform.agents_by_id.get(agent_id) or platform.agents.get(agent_id)
    if agent is None:
        raise ApiError(404, f"There is no agent {agent_id!r}. See /api/agents.")
    return agent


def _read_input(agent: Runnable, form: StartForm) -> object:
    """Return the input as the agent takes it: text and JSON as they are, or an object of a type that it declares."""
    kinds = [kind for kind, _ in find_schemas(list_input_types(agent)) if form.type in (None, kind.__name__)]
    if form.type is not None and not kinds:
        raise ApiError(422, f"type: {agent.name} takes no {form.type!r}.")
    if (isinstance(form.input, str) and form.type is None) or not kinds:
        return form.input
    problems: list[str] = []
    for kind in kinds:
        try:
            value: object = TypeAdapter(kind).validate_json(json.dumps(form.input))
            return value
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            problems.append(f"{'.'.join([kind.__name__, *map(str, first['loc'])])}: {first['msg']}")
    raise ApiError(422, f"input: {'; '.join(problems)}")


def _read_response(form: AnswerForm) -> object:
    if form.response is True and form.arguments is not None:
        return approve(form.arguments)
    return reject(form.reason) if form.response is False else form.response


async def _find(call: Call, run_id: str) -> RunView:
    return (await call.server.platform.tree(run_id)).run


async def _show(call: Call, run_id: str) -> RunForm:
    view = await _find(call, run_id)
    return show_run(view, call.person, await _find_result(call, view))


async def _find_result(call: Call, run: RunView) -> object:
    if run.status != RunStatus.COMPLETED:
        return None
    try:
        return await call.server.platform.output(run.id)
    except StoredStateError:
        return None  # the beginning of the output is in the record


RUN_OPERATIONS: Final = (
    ApiOperation(
        "POST", "/api/agents/{agent_id}/runs", start_run, "Start a run", RunForm, "start", StartForm, status=202
    ),
    ApiOperation(
        "GET",
        "/api/runs",
        list_runs,
        "List runs, the newest first",
        RunsForm,
        query={"status": "a status, or several", "agent": "name of an agent, or several", "limit": "most runs"},
    ),
    ApiOperation(
        "GET",
        "/api/waiting",
        list_waiting_runs,
        "List the runs that wait for people",
        RunsForm,
        query={"role": "role of whoever answers", "limit": "most runs"},
    ),
    ApiOperation("GET", "/api/runs/{run_id}", show_run_status, "Show a run", RunForm),
    ApiOperation("GET", "/api/runs/{run_id}/details", show_run_details, "Show all of a run", RunDetailsForm),
    ApiOperation("GET", "/api/runs/{run_id}/steps", list_steps, "List the steps of a run", StepsForm),
    ApiOperation(
        "GET", "/api/runs/{run_id}/events", stream_run, "Stream the events of a run", query={"after": "id of an event"}
    ),
    ApiOperation("GET", "/api/events", stream_all, "Stream the events of all runs", query={"after": "id of an event"}),
    ApiOperation(
        "POST",
        "/api/runs/{run_id}/answers",
        answer_request,
        "Answer a request of a run",
        RunForm,
        "answer",
        AnswerForm,
    ),
    ApiOperation("POST", "/api/runs/{run_id}/resume", resume_run, "Continue a run", RunForm, "start"),
    ApiOperation("DELETE", "/api/runs/{run_id}", cancel_run, "End a run", RunForm, "start"),
)
