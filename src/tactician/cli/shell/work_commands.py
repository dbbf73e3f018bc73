"""Commands of the shell that run agents, and continue or end their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tactician.agents.planned.specs import planned_spec
from tactician.cli.console import err, out
from tactician.cli.outcomes import start_run
from tactician.cli.run_command import read_input
from tactician.cli.shell.session import ShellSession
from tactician.cli.shell_commands import ShellOption
from tactician.errors import ResponseError, RunConflictError
from tactician.runs import RunStatus

Agent = Annotated[str | None, ShellOption("-a", "Name of the agent; by default, a model chooses.")]
RunId = Annotated[str, ShellOption(help="Id of the run, or its beginning; the last run by default.")]


async def execute(
    session: ShellSession,
    text: list[str],
    agent: Agent = None,
    prompts: Annotated[bool, ShellOption("-p", "Show what models are sent.")] = False,
    responses: Annotated[bool, ShellOption("-r", "Show what models answer.")] = False,
    plan: Annotated[bool, ShellOption("-P", "Draw each plan in full.")] = False,
    debug: Annotated[bool, ShellOption("-d", "Show all events, and the traceback of an error.")] = False,
    open: Annotated[bool, ShellOption("-o", "Choose a goal, and use the actions of all agents.")] = False,
    closed: Annotated[bool, ShellOption("-c", "Choose an agent, which runs as it is.")] = False,
) -> None:
    """Run the agent that fits a text best, and print its result."""
    request = " ".join(text)
    mode = "open" if open else "closed" if closed else session.switches.mode
    with session.show_run(prompts=prompts, responses=responses, debug=debug) as view:
        chosen = await session.find_agent(request, agent, mode)
        view.spec = planned_spec(chosen) if plan or session.switches.plan else None
        outcome = await start_run(session.platform, chosen, read_input(chosen, text))
    with session.show_run(prompts=prompts, responses=responses, debug=debug):
        await session.finish(outcome)


async def chat(
    session: ShellSession,
    agent: Annotated[
        str | None, ShellOption("-a", "Name of the agent; by default, the best for the first line.")
    ] = None,
    id: Annotated[str | None, ShellOption("-i", "Id of a conversation, to continue it.")] = None,
) -> None:
    """Talk with an agent; an empty line or Ctrl-D ends the conversation."""
    talk = session.open_chat(agent, id)
    with session.show_run() as view, view.without_messages():
        await talk.run(session.run_interruptible)
    err.print(f"`chat --id {talk.conversation_id}` continues the conversation.", highlight=False)


async def respond(session: ShellSession, run: RunId = "") -> None:
    """Answer what a run asks, and continue it."""
    run_id = await session.find_run(run)
    views = await session.platform.runs()
    waiting = next((view for view in views if view.id == run_id), None)
    if waiting is None or not waiting.pending:
        raise ResponseError(f"{run_id} does not wait for an answer. `runs` lists those that do.")
    with session.show_run():
        await session.finish(await session.platform.resume(run_id))


async def resume(session: ShellSession, run: RunId = "") -> None:
    """Continue a run that was interrupted, is paused or is stuck."""
    run_id = await session.find_run(run)
    with session.show_run():
        outcome = await session.platform.resume(run_id)
    await session.finish(outcome)


async def kill(
    session: ShellSession, run: RunId = "", reason: Annotated[str, ShellOption(help="Why; it is kept.")] = "killed"
) -> None:
    """End a run for good."""
    run_id = await session.find_run(run)
    status = await session.platform.kill(run_id, reason)
    if status is not RunStatus.KILLED:
        raise RunConflictError(f"{run_id} cannot be killed: it {status.sentence} already.")
    out.print(f"{run_id} was killed", highlight=False)


async def trace(session: ShellSession, file: Path, run: RunId = "") -> None:
    """Write all that a run did into a web page."""
    run_id = await session.find_run(run)
    (await session.platform.trace(run_id)).to_html(file)
    out.print(f"{file} shows {run_id}", highlight=False, markup=False)
