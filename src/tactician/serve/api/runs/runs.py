"""Operations on runs: started, looked at, answered, continued and ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from starlette.responses import Response as HttpResponse

from tactician.errors import RunConflictError
from tactician.events import event_to_json
from tactician.events.encoding import encode
from tactician.llm import Image, Text, UserMessage
from tactician.llm.messages import messages_to_data
from tactician.planning import Objective
from tactician.planning.rules import parse_rule
from tactician.platform import RunTree, RunView
from tactician.process import PlanReview, ProcessOptions
from tactician.runs import Runnable, RunStatus, approve, reject
from tactician.runs.progress.store import RunStore
from tactician.serve.api.agents import find_run_names, find_runnable, read_agent_input, reads_messages
from tactician.serve.api.forms.forms import AnswerForm, RunDetailsForm, RunForm, RunsForm, StartForm, StepsForm
from tactician.serve.api.forms.pictures import find_picture, send_picture
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.forms.views import conceal_run, show_run, show_step, show_tree
from tactician.serve.api.forms.visibility import ANYBODY, READERS, find_owner, sees_run
from tactician.serve.api.runs.history import list_events
from tactician.serve.api.runs.lookup import find_request, find_result, find_run, find_tree, present_run
from tactician.serve.api.runs.pages import RunChoice, read_page
from tactician.serve.api.serving.idempotency import scope_key
from tactician.serve.api.serving.operations import ApiOperation, Call, count_up_to
from tactician.serve.api.uploads import read_pictures
from tactician.serve.problems import ApiError

_LONGEST_PAGE: Final = 1000
_MOST_WAITING: Final = 10_000
_LARGEST: Final = 2**53
"""Largest whole number that every program reads from JSON as it is."""


async def find_run_picture(call: Call, run_id: str, name: str) -> Image | None:
    """Return a picture of a run, or `None`: of what is shown of it, of its earlier steps, or of an event.

    Raises:
        RunNotFoundError: when there is no such run.
    """
    tree = await find_tree(call, run_id)
    shown = _find_shown(tree, call.viewer, await find_result(call, tree.run), name)
    if shown is not None or not call.viewer.look_at(tree.run).sees_content:
        return shown
    root = call.server.feed.find_root(run_id)
    stored = await _find_stored(RunStore(call.server.platform.store), (root, *(run.id for run in tree.walk())), name)
    if stored is not None:
        return stored
    events = await list_events(call.server, run_id)
    return next(filter(None, (find_picture(event_to_json(event), name) for event in events)), None)


def _find_shown(tree: RunTree, viewer: Viewer, result: object, name: str) -> Image | None:
    """Return a picture of what `show_tree` shows of a run and of those inside it."""
    run, viewer = tree.run, viewer.look_at(tree.run)
    shown = [encode(result)]
    if viewer.sees_content:
        shown += [*(entry.value for entry in run.objects), *map(encode, messages_to_data(run.messages))]
    if (picture := find_picture(shown, name)) is not None:
        return picture
    return next(filter(None, (_find_shown(child, viewer, None, name) for child in tree.children)), None)


async def _find_stored(runs: RunStore, run_ids: Iterable[str], name: str) -> Image | None:
    """Return a picture that some step of the runs has, as far as they are in the store."""
    for run_id in dict.fromkeys(run_ids):
        if (content := await runs.load_attachment(run_id, name)) is not None:
            try:
                return Image.from_bytes(content)
            except ValueError:  # another kind of file
                return None
    return None


async def start_run(call: Call) -> RunForm:
    """Start a run of an agent, and return it at once: its events, or its status, say how it ends."""
    form = await call.read(StartForm)
    agent = find_runnable(call)
    deadline = None if form.seconds is None else datetime.fromtimestamp(call.server.clock.time() + form.seconds, UTC)
    run_id = await call.server.runs.start(
        agent,
        await _read_input(call, agent, form),
        user=call.person.user,
        priority=form.priority,
        deadline=deadline,
        idempotency_key=scope_key(call.person, form.idempotency_key),
        options=_read_options(form),
    )
    return await present_run(call, run_id)


def _read_options(form: StartForm) -> ProcessOptions | None:
    """Return the options of the process of a planned agent; `None` when the form has none, and for other agents."""
    review = form.plan_review
    if review is None and form.objective is None and not form.rules:
        return None
    try:
        rules = tuple(map(parse_rule, form.rules))
    except ValueError as error:
        raise ApiError(422, f"rules: {error}") from error
    terms = None
    if review is not None:
        deadline = None if review.seconds is None else timedelta(seconds=review.seconds)
        terms = PlanReview(
            required_role=review.role,
            deadline=deadline,
            default=review.default,
            replans=review.replans,
            above_dollars=review.above_dollars,
        )
    objective = None if form.objective is None else Objective.of(form.objective)
    return ProcessOptions(rules=rules, plan_review=terms, objective=objective)


async def _read_input(call: Call, agent: Runnable, form: StartForm) -> object:
    if not form.pictures:
        return read_agent_input(agent, form.input, form.type)
    if not isinstance(form.input, str) or not reads_messages(agent):
        raise ApiError(422, "pictures: they go with a text, to an agent that reads messages.")
    return UserMessage((Text(form.input), *await read_pictures(call, form.pictures)))


async def list_runs(call: Call) -> RunsForm:
    """Return a page of runs, the newest first, and where the next begins."""
    query = call.request.query_params
    status_names = {status.value for status in RunStatus}
    if unknown := set(query.getlist("status")) - status_names:
        raise ApiError(422, f"status: {', '.join(sorted(unknown))[:100]} is none of {', '.join(sorted(status_names))}.")
    if (outer := query.get("outer", "false")) not in ("true", "false"):
        raise ApiError(422, "outer must be true or false.")
    choice = RunChoice(
        tuple(query.getlist("status")),
        find_run_names(call, query.getlist("agent")),
        tuple(query.get("search", "").casefold().split()),
        outer == "true",
        find_owner(call.person),
    )
    limit, after = call.find_number("limit", 100, _LONGEST_PAGE), call.find_number("after", 0, _LARGEST) or None
    page = await read_page(call.server.platform, choice, limit, after)
    return RunsForm(runs=tuple(show_run(run, call.viewer) for run in page.runs), next=page.next)


async def list_waiting_runs(call: Call) -> RunsForm:
    """Return the runs that wait for people, oldest first."""
    limit, role = call.find_number("limit", 1000, _MOST_WAITING), call.request.query_params.get("role")
    is_whole = role is None and find_owner(call.person) is None
    runs = await call.server.platform.list_waiting_runs(limit if is_whole else _MOST_WAITING)
    shown = (form for run in runs if (form := _show_waiting(run, call)) is not None)
    chosen = (run for run in shown if role is None or any(request.role == role for request in run.pending))
    return RunsForm(runs=tuple(islice(chosen, limit)))


def _show_waiting(run: RunView, call: Call) -> RunForm | None:
    if sees_run(call.person, run.user):
        return show_run(run, call.viewer)
    concealed = conceal_run(run, call.viewer)
    return concealed if concealed.pending else None


async def show_run_status(call: Call) -> RunForm:
    """Return a run as it stands, with its result once it has completed."""
    return await present_run(call, call.find_id("run_id"))


async def show_run_details(call: Call) -> RunDetailsForm:
    """Return a run with its history, blackboard, messages, and the runs inside it."""
    run_id = call.find_id("run_id")
    tree = await find_tree(call, run_id)
    return show_tree(tree, call.viewer, await find_result(call, tree.run))


async def show_run_picture(call: Call) -> HttpResponse:
    """Return a picture of a run: of its messages, its objects, its result or its events."""
    picture = await find_run_picture(call, call.find_id("run_id"), call.find_id("picture_id"))
    return send_picture(picture, call.request)


async def list_steps(call: Call) -> StepsForm:
    """Return the steps of a run, oldest first."""
    run_id = call.find_id("run_id")
    viewer = call.viewer.look_at(await find_run(call, run_id))
    steps = await call.server.platform.steps(run_id)
    return StepsForm(steps=tuple(show_step(step, viewer) for step in steps))


async def answer_request(call: Call) -> RunForm:
    """Answer a request that a run waits for; the run continues."""
    run_id, form = call.find_id("run_id"), await call.read(AnswerForm)
    request = await find_request(call, run_id, form.request)
    accepted, role = asyncio.Event(), call.person.find_role(request.required_role)
    answering = call.server.platform.respond(
        run_id, form.request, _read_response(form), role=role, by=call.person.name, on_accept=accepted.set
    )
    await call.server.begin(answering, accepted)
    return await present_run(call, run_id, has_answered=True)


async def resume_run(call: Call) -> RunForm:
    """Continue a run that is paused, stuck or interrupted."""
    run_id = call.find_id("run_id")
    await find_run(call, run_id)
    await call.server.begin(call.server.platform.resume(run_id))
    return await present_run(call, run_id)


async def cancel_run(call: Call) -> RunForm:
    """End a run for good, wherever it runs."""
    run_id = call.find_id("run_id")
    if RunStatus((await find_run(call, run_id)).status).is_terminal:
        raise RunConflictError(f"The run {run_id} has ended already.")
    await call.server.runs.cancel(run_id, f"cancelled by {call.person.name}")
    return await present_run(call, run_id)


def _read_response(form: AnswerForm) -> object:
    if form.response is True and form.arguments is not None:
        return approve(form.arguments)
    return reject(form.reason) if form.response is False else form.response


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
        READERS,
        query={
            "status": "a status, or several",
            "agent": "id or name of an agent, or several",
            "search": "words in the id, the agent, the status, the output or the failure",
            "outer": "true for runs that are inside no other",
            "limit": "most runs of a page, up to 1000",
            "after": "where the page begins: `next` of the page before it",
        },
        query_types={
            "status": {"type": "array", "items": {"enum": [status.value for status in RunStatus]}},
            "agent": {"type": "array", "items": {"type": "string"}},
            "outer": {"type": "boolean"},
            "limit": count_up_to(_LONGEST_PAGE),
            "after": count_up_to(_LARGEST),
        },
    ),
    ApiOperation(
        "GET",
        "/api/waiting",
        list_waiting_runs,
        "List the runs that wait for people",
        RunsForm,
        ANYBODY,
        query={"role": "role of the person who answers", "limit": "most runs, up to 10000"},
        query_types={"limit": count_up_to(_MOST_WAITING)},
    ),
    ApiOperation("GET", "/api/runs/{run_id}", show_run_status, "Show a run", RunForm, ANYBODY),
    ApiOperation("GET", "/api/runs/{run_id}/details", show_run_details, "Show all of a run", RunDetailsForm, READERS),
    ApiOperation(
        "GET",
        "/api/runs/{run_id}/pictures/{picture_id}",
        show_run_picture,
        "Get a picture of a run",
        right=READERS,
        media_type="image/*",
    ),
    ApiOperation("GET", "/api/runs/{run_id}/steps", list_steps, "List the steps of a run", StepsForm, READERS),
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
