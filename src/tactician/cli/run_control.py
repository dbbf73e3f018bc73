"""`tactician respond`, `resume`, `kill` and `prune`: continue, end or delete stored runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from tactician.cli.answers import parse_answer_text
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, File, ModelName, NoInput, PersonalityName, ProcessId, StoreUrl, err, out
from tactician.cli.durations import parse_duration
from tactician.cli.interruption import say_how_to_resume
from tactician.cli.lease_waiting import wait_for_lease
from tactician.cli.loading import load_agents
from tactician.cli.outcomes import Outcome, answer_requests, print_outcome
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import create_asker, create_platform, format_arguments, open_catalog
from tactician.cli.stores import require_store
from tactician.errors import ConfigurationError, ResponseError, RunConflictError
from tactician.grammar import format_count
from tactician.platform import Platform, RunReader, RunView
from tactician.runs import PendingRequest, RunStatus, approve, reject
from tactician.runs.life.holding import kill_run
from tactician.runs.outcomes.suspension import Approval
from tactician.runs.progress.store import RunStore
from tactician.stores import open_store


def respond(
    id: ProcessId,
    words: Annotated[list[str], typer.Argument(metavar="[REQUEST] [VALUE] FILE", help="The answer: JSON or text.")],
    store: StoreUrl = None,
    approved: Annotated[
        bool, typer.Option("--approve", help="Let the tool be called; there is no VALUE then.")
    ] = False,
    rejected: Annotated[
        str | None, typer.Option("--reject", metavar="REASON", help="Refuse it; there is no VALUE then.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", help="The role of the person who answers, if a role is required.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="The name of the person who answers; it is saved.")] = None,
    model: ModelName = None,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Answer a request of a run, and continue it. REQUEST can be left out when only a single request is open."""
    decision = approve() if approved else None if rejected is None else reject(rejected)
    request_id, value, file = _split(words, has_value=decision is None)

    async def work(platform: Platform, run: RunView) -> Outcome:
        request = _choose_request(run, request_id)
        response = _check_decision(decision, request) if decision is not None else parse_answer_text(value, request)
        from tactician.evals.asking import register_judges

        register_judges(platform)
        return await platform.respond(id, request.id, response, role=role, by=by)

    access = BlueprintAccess.of(allow, modules, root)
    outcome = asyncio.run(run_on_platform(id, file, store, model, voice, work, access))
    print_outcome(outcome, format_arguments(file, store, access))


def resume(
    id: ProcessId,
    file: File,
    store: StoreUrl = None,
    no_input: NoInput = False,
    model: ModelName = None,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Continue a run that was interrupted, paused or is stuck; pending requests are asked in the terminal."""

    async def work(platform: Platform, run: RunView) -> Outcome:
        await wait_for_lease(platform, run)
        return await answer_requests(platform, await platform.resume(id), create_asker(no_input))

    access = BlueprintAccess.of(allow, modules, root)
    outcome = asyncio.run(run_on_platform(id, file, store, model, voice, work, access))
    print_outcome(outcome, format_arguments(file, store, access))


def kill(
    id: ProcessId,
    store: StoreUrl = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "killed",
    debug: Debug = False,
) -> None:
    """End a run for good, wherever it runs, also if it cannot be read."""
    asyncio.run(_kill(id, require_store(store), reason))
    out.print(f"{id} was killed", highlight=False)


def prune(
    older_than: Annotated[
        timedelta, typer.Option("--older-than", parser=parse_duration, metavar="AGE", help="Such as 30d, 12h or 90m.")
    ],
    store: StoreUrl = None,
    debug: Debug = False,
) -> None:
    """Delete the runs that ended longer ago than an age, with their steps."""
    deleted = asyncio.run(_prune(older_than, require_store(store)))
    out.print(f"{format_count(deleted, 'run')} deleted", highlight=False)


async def _prune(age: timedelta, store: str) -> int:
    async with open_store(store) as documents:
        return await RunStore(documents).prune(age.total_seconds())


async def _kill(id: str, store: str, reason: str) -> None:
    async with open_store(store) as documents:
        if not await kill_run(documents, id, reason):
            status = RunStatus((await RunReader(documents).get(id)).status)
            raise RunConflictError(f"{id} cannot be killed: it {status.sentence} already.")


async def run_on_platform(
    id: str,
    file: Path,
    store: str | None,
    model: str | None,
    voice: str | None,
    work: Callable[[Platform, RunView], Awaitable[Outcome]],
    access: BlueprintAccess,
    *,
    is_new: bool = False,
) -> Outcome:
    """Work with a stored run, on a platform with the agents of a file.

    Args:
        id: id of the run.
        file: file with the agents.
        store: address of the store.
        model: name of the default model.
        voice: personality of the progress.
        work: the work, which takes the platform and the run.
        access: what a blueprint may use.
        is_new: true when the work starts another run.
    """
    view = ProgressView(err, voice=find_personality(voice))
    agents = load_agents(file, access)
    async with open_store(require_store(store)) as documents:
        platform = create_platform(agents, view, documents, open_catalog(model))
        run = await RunReader(documents).get(id)
        arguments = format_arguments(file, store, access)
        async with say_how_to_resume(documents, run.name, arguments, None if is_new else id):
            return await work(platform, run)


def _split(words: list[str], *, has_value: bool) -> tuple[str | None, str, Path]:
    """Return the request and the value, if any, and the file."""
    required = 2 if has_value else 1
    if not required <= len(words) <= required + 1:
        expected = "[REQUEST] VALUE FILE" if has_value else "[REQUEST] FILE"
        raise ConfigurationError(
            f"respond ID takes {expected}, and got: {' '.join(words)}. FILE has the agent that goes on."
        )
    request = words[0] if len(words) > required else None
    return request, words[-2] if has_value else "", Path(words[-1])


def _choose_request(run: RunView, request_id: str | None) -> PendingRequest:
    """Return the request with an id, or the only request.

    Raises:
        ResponseError: when no request has that id, or the caller names no request and not exactly one waits.
    """
    ids = {request.id: request for request in run.pending}
    if not ids:
        raise ResponseError(f"{run.id} {RunStatus(run.status).sentence}: it does not wait for an answer.")
    if request_id is None and len(ids) == 1:
        return run.pending[0]
    if request_id not in ids:
        problem = "Name the request" if request_id is None else f"There is no request {request_id!r}"
        raise ResponseError(f"{problem}: {run.id} waits for {', '.join(ids)}.")
    return ids[request_id]


def _check_decision(decision: Approval, request: PendingRequest) -> Approval:
    if request.kind == "tool" or (request.kind == "form" and decision.granted):
        raise ResponseError(f"{request.id} is not an approval ({request.kind}): answer it with a VALUE.")
    return decision
