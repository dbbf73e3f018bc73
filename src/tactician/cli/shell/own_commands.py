"""Commands of the shell about itself, and the list of all built-in commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from rich.markup import escape
from rich.table import Table

from tactician.cli.console import out
from tactician.cli.personalities import find_personality
from tactician.cli.rag_command import ingest_places, print_report
from tactician.cli.shell import look_commands as look
from tactician.cli.shell import work_commands as work
from tactician.cli.shell.history import ShellHistory
from tactician.cli.shell.parsing import ShellInputError
from tactician.cli.shell.session import ShellSession
from tactician.cli.shell_commands import ShellCommand, ShellOption, ShellParameter, create_command
from tactician.errors import TacticianError
from tactician.grammar import format_count
from tactician.personalities import PERSONALITIES
from tactician.platform import Platform
from tactician.platform.autonomy import Mode
from tactician.suggestions import did_you_mean

SERVICES: Final = (Platform, ShellSession, ShellHistory)
Switch = Literal["prompts", "responses", "plan", "debug", "mode", "personality"]
_WORK, _LOOK, _SELF = "run", "look", "shell"


async def ingest(
    places: Annotated[list[str | Path], ShellOption(help="Files, folders and web pages.")],
    library: Annotated[str, ShellOption("-l", "An SQLite file, or a PostgreSQL URL.")] = "library.db",
    embedder: Annotated[str | None, ShellOption("-e", "An embedding model, or wordllama (offline).")] = None,
    refresh: Annotated[
        Literal["changed", "never", "always"], ShellOption("-r", "Which documents to read again.")
    ] = "changed",
    allow_private: Annotated[bool, ShellOption(help="Fetch pages of private networks too.")] = False,
) -> None:
    """Read documents that are new or have changed into a library, which agents search.

    Raises:
        TacticianError: when some could not be read.
    """
    from tactician.rag import RefreshPolicy

    report = await ingest_places(
        map(str, places), library, embedder, policy=RefreshPolicy(refresh), allow_private=allow_private
    )
    print_report(report)
    if report.failures:
        raise TacticianError(f"{format_count(len(report.failures), 'document')} could not be read.")


def show_help(session: ShellSession, command: str | None = None) -> None:
    """List the commands, or explain one of them."""
    if command is None:
        _list_commands(session)
        return
    if (shell_command := session.commands.get(command)) is None:
        raise ShellInputError(f"There is no command {command!r}.{did_you_mean(command, session.commands)}")
    out.print(
        f"[bold]{escape(shell_command.usage)}[/bold]\n{escape(shell_command.description)}",
        highlight=False,
        soft_wrap=True,
    )
    if shell_command.aliases:
        out.print(f"[dim]also {escape(', '.join(shell_command.aliases))}[/dim]", highlight=False)
    table = Table.grid(padding=(0, 2))
    for parameter in shell_command.parameters:
        table.add_row(f"[cyan]{escape(_name(parameter))}[/cyan]", escape(_describe(parameter)))
    out.print(table)


def set_switch(session: ShellSession, switch: Switch | None = None, value: str | None = None) -> None:
    """Show or change what is shown of each run: a switch is `on` or `off`, the mode `open` or `closed`."""
    switches = session.switches
    if switch == "personality" and value is not None:
        session.view.voice = find_personality(value)
    elif switch == "mode" and value is not None:
        if value not in get_args(Mode):
            raise ShellInputError(f"The mode is open or closed, not {value!r}.")
        switches.mode = "open" if value == "open" else "closed"
    elif switch is not None:
        if value not in ("on", "off", None):
            raise ShellInputError(f"{switch} is on or off, not {value!r}.")
        if switch in ("prompts", "responses", "plan", "debug"):
            setattr(switches, switch, not getattr(switches, switch) if value is None else value == "on")
    voice = next((name for name, personality in PERSONALITIES.items() if personality is session.view.voice), "")
    shown = {name: getattr(switches, name) for name in get_args(Switch)[:4]}
    facts = {name: "on" if is_on else "off" for name, is_on in shown.items()}
    for name, fact in {**facts, "mode": switches.mode, "personality": voice}.items():
        out.print(f"{name:<12} {fact}", highlight=False)


def show_history(history: ShellHistory, number: int = 20) -> None:
    """Show the last lines that were typed. `!!` repeats the last of them."""
    for line in history.lines[-max(number, 1) :]:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def clear() -> None:
    """Clear the terminal."""
    if sys.stdout.isatty():
        out.clear()


def leave(session: ShellSession) -> None:
    """End the shell. Ctrl-D does so, too."""
    session.is_over = True


def list_built_in() -> Iterator[ShellCommand]:
    """Yield the built-in commands."""
    listed: tuple[tuple[str, str, Callable[..., object], tuple[str, ...]], ...] = (
        (_WORK, "execute", work.execute, ("x",)),
        (_WORK, "chat", work.chat, ()),
        (_WORK, "ingest", ingest, ()),
        (_WORK, "respond", work.respond, ()),
        (_WORK, "resume", work.resume, ()),
        (_WORK, "kill", work.kill, ()),
        (_LOOK, "agents", look.list_agents, ()),
        (_LOOK, "actions", look.list_actions, ()),
        (_LOOK, "goals", look.list_goals, ()),
        (_LOOK, "conditions", look.list_conditions, ()),
        (_LOOK, "tools", look.list_tools, ()),
        (_LOOK, "models", look.list_models, ()),
        (_LOOK, "plan", look.draw_plans, ()),
        (_LOOK, "runs", look.list_runs, ("ps",)),
        (_LOOK, "show", look.show_run, ()),
        (_LOOK, "blackboard", look.show_blackboard, ("bb",)),
        (_LOOK, "steps", look.show_steps, ()),
        (_LOOK, "trace", work.trace, ()),
        (_SELF, "set", set_switch, ()),
        (_SELF, "history", show_history, ()),
        (_SELF, "clear", clear, ()),
        (_SELF, "help", show_help, ("?",)),
        (_SELF, "exit", leave, ("quit",)),
    )
    for group, name, function, aliases in listed:
        yield create_command(function, SERVICES, name=name, aliases=aliases, group=group)


def _list_commands(session: ShellSession) -> None:
    groups: dict[str, list[ShellCommand]] = {}
    for command in {id(command): command for command in session.commands.values()}.values():
        groups.setdefault(command.group, []).append(command)
    for group, commands in groups.items():
        out.print(f"[bold]{escape(group)}[/bold]")
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        for command in commands:
            names = ", ".join((command.name, *command.aliases))
            table.add_row(f"  [cyan]{escape(names)}[/cyan]", escape(command.description.partition("\n")[0]))
        out.print(table)
    out.print("[dim]`help COMMAND` explains a command. `!!` repeats the last line.[/dim]", highlight=False)


def _name(parameter: ShellParameter) -> str:
    if parameter.is_required:
        return f"{parameter.name.upper()}{'...' if parameter.takes_rest else ''}"
    return ", ".join(filter(None, (parameter.short, parameter.option)))


def _describe(parameter: ShellParameter) -> str:
    choices = f"One of {', '.join(parameter.choices)}." if parameter.choices else ""
    has_value = not (parameter.is_required or parameter.is_flag or parameter.default in (None, ""))
    default = f"{parameter.default} by default." if has_value else ""
    return " ".join(filter(None, (parameter.help, choices, default)))
