"""`tactician chat`."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.chat import Chat, find_partner
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
from tactician.cli.loading import Loaded, load_agents
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import choose_models, format_arguments
from tactician.cli.shell import ShellHistory, ShellSession, ignore_interrupts, open_lines
from tactician.cli.stores import find_store, open_or_create
from tactician.platform import Platform
from tactician.service import AgentService


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
    the agent, and `@` lets the model choose again.
    """
    access = BlueprintAccess.of(allow, modules, root)
    loaded = load_agents(file, access)
    view = ProgressView(err, prompts, responses, voice=find_personality(voice))
    models = choose_models(loaded, file, model, scripted)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            address = find_store(store)
            opened = await stack.enter_async_context(open_or_create(address))
            platform = Platform(models=models, store=opened, on_event=view)
            await stack.enter_async_context(platform.register(*loaded.values(), *loaded.tool_groups))
            talk = await _talk(platform, loaded, view, agent, conversation, is_debugged=debug)
            if address is not None:
                again = f"{format_arguments(file, store, access)} --id {shlex.quote(talk.conversation_id)}"
                say(f"Continue with: tactician chat {again}")

    asyncio.run(work())


async def _talk(
    platform: Platform,
    loaded: Loaded,
    view: ProgressView,
    agent: str | None,
    conversation: str | None,
    *,
    is_debugged: bool,
) -> Chat:
    """Talk until the person ends it."""
    session = ShellSession(platform, loaded, view, open_lines((), None), ShellHistory(None))
    session.switches.debug = is_debugged
    service = AgentService(platform)
    name = find_partner(platform) if agent is None else session.get_agent(agent).name
    talk = Chat(service, session.lines, conversation or service.create_conversation(), session.find_agent, name)
    with ignore_interrupts() if session.lines.is_terminal else nullcontext(), view.without_messages():
        await talk.run(session.interruptible)
    return talk
