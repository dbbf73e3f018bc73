"""`tactician chat`."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import (
    AgentName,
    Debug,
    ModelName,
    PersonalityName,
    Prompts,
    Responses,
    Scripted,
    StoreUrl,
    err,
    say,
)
from tactician.cli.loading import Loaded, choose_agent, load_agents
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import choose_models, format_arguments
from tactician.cli.shell.history import ShellHistory
from tactician.cli.shell.interrupts import ignore_interrupts
from tactician.cli.shell.lines import open_lines
from tactician.cli.shell.session import ShellSession
from tactician.cli.stores import find_store, open_or_create
from tactician.platform import Platform


def chat(
    file: Annotated[Path, typer.Argument(help="A Python file with agents in it, or a blueprint.")],
    agent: AgentName = None,
    conversation: Annotated[
        str | None, typer.Option("--id", help="Id of the conversation, to continue it; your own ids work, too.")
    ] = None,
    model: ModelName = None,
    store: StoreUrl = None,
    prompts: Prompts = False,
    responses: Responses = False,
    scripted: Scripted = False,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Talk with an agent. Answers appear as they come; an empty line or Ctrl-D ends it.

    With a store the conversation outlives the program, also while the agent waits for an approval. Of several agents,
    a model chooses the one that fits the first message best, unless --agent names one. `@NAME` before a message changes
    the agent, and `@` lets the model choose again. The exit code is 1 when a message of a file or a pipe was not
    answered.
    """
    access = BlueprintAccess.of(allow, modules, root)
    loaded = load_agents(file, access)
    view = ProgressView(err, prompts, responses, voice=find_personality(voice))
    models = choose_models(loaded, file, model, scripted)

    async def work() -> bool:
        async with AsyncExitStack() as stack:
            address = find_store(store)
            opened = await stack.enter_async_context(open_or_create(address))
            platform = Platform(models=models, store=opened, on_event=view)
            named = () if agent is None else (choose_agent(loaded.everything, agent, file),)
            await stack.enter_async_context(loaded.register(platform, named))
            session = _create_session(platform, loaded, view, is_debugged=debug)
            talk = session.open_chat(agent, conversation)
            with ignore_interrupts() if session.lines.is_terminal else nullcontext(), view.without_messages():
                succeeded = await talk.run(session.run_interruptible)
            if address is not None:
                again = f"{format_arguments(file, store, access)} --id {shlex.quote(talk.conversation_id)}"
                say(f"Continue with: tactician chat {again}")
            return succeeded or session.lines.is_terminal

    if not asyncio.run(work()):
        raise typer.Exit(1)


def _create_session(platform: Platform, loaded: Loaded, view: ProgressView, *, is_debugged: bool) -> ShellSession:
    session = ShellSession(platform, loaded, view, open_lines((), None), ShellHistory(None))
    session.switches.debug = is_debugged
    return session
