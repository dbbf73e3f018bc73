"""`tactician shell`."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, ModelName, PersonalityName, Scripted, StoreUrl, err
from tactician.cli.loading import Loaded, load_agents
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import choose_models
from tactician.cli.shell.completion import Completions
from tactician.cli.shell.history import ShellHistory, find_history
from tactician.cli.shell.interrupts import ignore_interrupts
from tactician.cli.shell.lines import LineReader, open_lines
from tactician.cli.shell.own_commands import SERVICES, list_built_in
from tactician.cli.shell.session import ShellSession
from tactician.cli.shell_commands import create_command
from tactician.cli.stores import find_store, open_or_create
from tactician.errors import TacticianError
from tactician.platform import Platform

_PROMPT = "tactician> "


def shell(
    files: Annotated[list[Path], typer.Argument(help="Python files with agents in them, or blueprints.")],
    model: ModelName = None,
    store: StoreUrl = None,
    scripted: Scripted = False,
    voice: PersonalityName = None,
    history: Annotated[
        Path | None, typer.Option("--history", help="File of the lines that are typed; in the user's state by default.")
    ] = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Open a shell with agents: run them, talk with them, answer what they ask, and look at what they did.

    Lines are read from standard input: with completion and a history in a terminal, which needs the extra `shell`.
    The exit code is 1 when a line of a file or a pipe failed.
    """
    access = BlueprintAccess.of(allow, modules, root)
    loaded = Loaded.merge(load_agents(file, access) for file in files)
    shell_history = ShellHistory(history or find_history(os.environ))
    view = ProgressView(err, voice=find_personality(voice), shows_ids=True)
    models = choose_models(loaded, files[0], model, scripted)

    async def work() -> bool:
        async with AsyncExitStack() as stack:
            address = find_store(store)
            opened = await stack.enter_async_context(open_or_create(address))
            listeners: list[ShellSession] = []
            platform = Platform(models=models, store=opened, on_event=lambda event: listeners[0].listen(event))
            await stack.enter_async_context(loaded.register(platform))
            lines = open_lines(shell_history.lines, lambda text: completions.suggest(text))
            session = ShellSession(platform, loaded, view, lines, shell_history)
            listeners.append(session)
            completions = _prepare(session, is_debugged=debug)
            with ignore_interrupts() if lines.is_terminal else nullcontext():
                return await _read_lines(session, lines)

    if not asyncio.run(work()):
        raise typer.Exit(1)


def _prepare(session: ShellSession, *, is_debugged: bool) -> Completions:
    """Add all commands to a session, and return the completions of its lines."""
    session.switches.debug = is_debugged
    for command in list_built_in():
        session.add(command)
    for function in session.loaded.commands:
        session.add(create_command(function, SERVICES))
    agents = session.agents
    return Completions(
        session.commands,
        {
            "agent": lambda: {name: agent.description for name, agent in agents.items()},
            "command": lambda: {name: command.description for name, command in session.commands.items()},
            "run": lambda: session.known_runs,
        },
    )


async def _read_lines(session: ShellSession, lines: LineReader) -> bool:
    """Carry out lines until the end; return whether all lines of a file succeeded, messages of chats included."""
    if lines.is_terminal:
        names = ", ".join(session.platform.agents)
        err.print(f"Agents: {names}. `help` lists the commands.", highlight=False, markup=False, soft_wrap=True)
    while not session.is_over:
        try:
            line = session.history.expand(typed := await lines.read(_PROMPT))
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        except TacticianError as error:
            session.print_error(error)
            continue
        if line != typed:
            err.print(line, markup=False, highlight=False, soft_wrap=True)
        session.history.add(line)
        await session.run_line(line)
    return lines.is_terminal or not session.has_failed
