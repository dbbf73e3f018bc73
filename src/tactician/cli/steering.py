"""`tactician respond`, `resume` and `kill`: going on with what a store holds, or ending it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tactician.cli.answers import text_answer
from tactician.cli.console import Debug, File, ModelName, NoInput, PersonalityName, ProcessId, StoreUrl, err, out
from tactician.cli.loading import load_agents
from tactician.cli.outcomes import Outcome, answered, conclude
from tactician.cli.personalities import personality
from tactician.cli.progress import ProgressView
from tactician.cli.running import again, platform_with, terminal_asker
from tactician.cli.stores import require_store
from tactician.errors import ConfigurationError, ResponseError, RunConflictError
from tactician.platform import Platform, RunReader, RunView
from tactician.runs import Approval, PendingRequest, RunResult, RunStatus, approve, kill_run, reject
from tactician.stores import open_store

_Work: TypeAlias = Callable[[Platform, RunView], Awaitable[Outcome]]


def respond(
    id: ProcessId,
    words: Annotated[
        list[str], typer.Argument(metavar="[REQUEST] [VALUE] FILE", help="What is answered: JSON or text.")
    ],
    store: StoreUrl = None,
    approved: Annotated[
        bool, typer.Option("--approve", help="Let the tool be called; there is no VALUE then.")
    ] = False,
    rejected: Annotated[
        str | None, typer.Option("--reject", metavar="REASON", help="Refuse it; there is no VALUE then.")
    ] = None,
    model: ModelName = None,
    voice: PersonalityName = None,
    debug: Debug = False,
) -> None:
    """Answer what a process or a run waits for, and go on with it. REQUEST can be left out when there is only one."""
    decision = approve() if approved else None if rejected is None else reject(rejected)
    request_id, value, file = _split(words, has_value=decision is None)

    async def work(platform: Platform, run: RunView) -> Outcome:
        request = _chosen(run, request_id)
        response = _decided(decision, request) if decision is not None else text_answer(value, request)
        return await platform.respond(id, request.id, response)

    conclude(asyncio.run(_on_platform(id, file, store, model, voice, work)), again(file, store))


def resume(
    id: ProcessId,
    file: File,
    store: StoreUrl = None,
    no_input: NoInput = False,
    model: ModelName = None,
    voice: PersonalityName = None,
    debug: Debug = False,
) -> None:
    """Go on with a process that was interrupted, paused or is stuck; one that waits is asked for in the terminal."""

    async def work(platform: Platform, run: RunView) -> Outcome:
        return await answered(platform, await _resumed(platform, run), terminal_asker(no_input))

    conclude(asyncio.run(_on_platform(id, file, store, model, voice, work)), again(file, store))


def kill(
    id: ProcessId,
    store: StoreUrl = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "killed",
    debug: Debug = False,
) -> None:
    """End a process for good, wherever it runs."""
    asyncio.run(_kill(id, require_store(store), reason))
    out.print(f"{id} is killed", highlight=False)


async def _kill(id: str, store: str, reason: str) -> None:
    async with open_store(store) as documents:
        if not await kill_run(documents, id, reason):
            status = (await RunReader(documents).get(id)).status
            raise RunConflictError(f"{id} cannot be killed: it is {status} already.")


async def _on_platform(
    id: str, file: Path, store: str | None, model: str | None, voice: str | None, work: _Work
) -> Outcome:
    view = ProgressView(err, voice=personality(voice))
    agents = load_agents(file)
    async with open_store(require_store(store)) as documents:
        platform = platform_with(agents, view, documents, model, agents.tool_groups)
        return await work(platform, await RunReader(documents).get(id))


async def _resumed(platform: Platform, run: RunView) -> Outcome:
    if run.kind == "process" or not run.pending:
        return await platform.resume(run.id)
    return RunResult(None, RunStatus.WAITING, run_id=run.id, pending=run.pending)


def _split(words: list[str], *, has_value: bool) -> tuple[str | None, str, Path]:
    """The request, if it is named, the value, if there is one, and the file."""
    wanted = 2 if has_value else 1
    if not wanted <= len(words) <= wanted + 1:
        expected = "[REQUEST] VALUE FILE" if has_value else "[REQUEST] FILE"
        raise ConfigurationError(f"respond ID takes {expected}, and got: {' '.join(words)}")
    request = words[0] if len(words) > wanted else None
    return request, words[-2] if has_value else "", Path(words[-1])


def _chosen(run: RunView, request_id: str | None) -> PendingRequest:
    """The request that is meant.

    Raises:
        ResponseError: when there is none of that id, or none is named and there are several, or none at all.
    """
    ids = {request.id: request for request in run.pending}
    if not ids:
        raise ResponseError(f"{run.id} is {run.status}: it does not wait for an answer.")
    if request_id is None and len(ids) == 1:
        return run.pending[0]
    if request_id not in ids:
        problem = "Name the request" if request_id is None else f"There is no request {request_id!r}"
        raise ResponseError(f"{problem}: {run.id} waits for {', '.join(ids)}.")
    return ids[request_id]


def _decided(decision: Approval, request: PendingRequest) -> Approval:
    if request.kind == "tool" or (request.kind == "form" and decision.granted):
        raise ResponseError(f"{request.id} is no approval ({request.kind}): answer it with a VALUE.")
    return decision
