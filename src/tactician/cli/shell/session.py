"""Session of the shell: its agents and switches, the commands, and the run that Ctrl-C cancels."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from inspect import isawaitable
from traceback import format_exception
from typing import Final

from rich.markup import escape

from tactician.cli.asker import Asker
from tactician.cli.chat import Chat, find_partner
from tactician.cli.choosing import choose_by_request, find_only_agent
from tactician.cli.console import err, out
from tactician.cli.loading import Loaded
from tactician.cli.outcomes import Outcome, answer_requests, find_run_id, format_output, print_pending, print_result
from tactician.cli.progress import ProgressView
from tactician.cli.shell.history import ShellHistory
from tactician.cli.shell.interrupts import cancel_at_interrupt
from tactician.cli.shell.lines import LineReader
from tactician.cli.shell.parsing import ShellInputError, parse_arguments, split_line
from tactician.cli.shell_commands import ShellCommand
from tactician.cli.task_board import TaskBoard
from tactician.errors import AgentNotFoundError, RunNotFoundError, TacticianError
from tactician.events import Event
from tactician.platform import Platform
from tactician.platform.autonomy import Mode
from tactician.runs import Runnable, RunStatus
from tactician.secrets import mask_secrets
from tactician.service import AgentService
from tactician.suggestions import did_you_mean
from tactician.text import describe_error, escape_controls

_MOST_RUNS: Final = 200


@dataclass(slots=True)
class Switches:
    """Details of each run that the shell shows, unless a command says otherwise.

    Attributes:
        prompts: what models are sent.
        responses: what models answer.
        plan: each plan in full.
        debug: all events, and tracebacks of errors.
        mode: `"closed"` to choose an agent for a request, `"open"` to choose a goal and use the actions of all agents.
    """

    prompts: bool = False
    responses: bool = False
    plan: bool = False
    debug: bool = False
    mode: Mode = "closed"


class ShellSession:
    """Session of the shell.

    Args:
        platform: the platform, with the agents.
        loaded: what the files define.
        view: display of the progress, which listens to the platform.
        lines: reader of what people type.
        history: what they typed before.

    Attributes:
        switches: what is shown.
        commands: the commands by their names and aliases.
        last_run: id of the last run; empty before the first.
        known_runs: names of the agents of the latest runs, by the ids of the runs.
        is_over: true when the shell ends.
        has_failed: true when a line, or a message of a chat, has failed.
    """

    def __init__(
        self, platform: Platform, loaded: Loaded, view: ProgressView, lines: LineReader, history: ShellHistory
    ) -> None:
        self.platform = platform
        self.loaded = loaded
        self.view = view
        self.lines = lines
        self.history = history
        self.switches = Switches()
        self.commands: dict[str, ShellCommand] = {}
        self.last_run = ""
        self.known_runs: dict[str, str] = {}
        self.is_over = False
        self.has_failed = False

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """All agents by name, also those that are part of another one."""
        return {**self.loaded.members, **self.platform.agents}

    def add(self, command: ShellCommand) -> None:
        """Add a command. A command of the user takes the place of a built-in command with the same name."""
        for name in (command.name, *command.aliases):
            self.commands[name] = command

    def listen(self, event: Event) -> None:
        """Take note of a run that begins, and show the event."""
        if len(event.path) == 1 and event.run_id and event.run_id not in self.known_runs:
            self.last_run = event.run_id
            self.known_runs[event.run_id] = event.path[0]
            if len(self.known_runs) > _MOST_RUNS:
                del self.known_runs[next(iter(self.known_runs))]
        self.view(event)

    async def run_line(self, line: str) -> bool:
        """Carry out a line, and return whether that succeeded. Errors are printed; Ctrl-C cancels the line only."""
        try:
            words = split_line(line)
            if not words:
                return True
            command = self._find_command(words[0])
            arguments = parse_arguments(command, words[1:])
        except ShellInputError as error:
            return self.print_error(error)
        return await self.run_interruptible(self._call(command, arguments))

    async def run_interruptible(self, work: Coroutine[object, object, object]) -> bool:
        """Await some work that Ctrl-C in a terminal cancels, and return whether it succeeded. Errors are printed."""
        task = asyncio.ensure_future(work)
        try:
            with cancel_at_interrupt(task) if self.lines.is_terminal else nullcontext():
                await task
        except CancelledError:
            if not task.cancelled():  # it is the shell that ends
                task.cancel()
                raise
            await self._say_interrupted()
            return False
        except Exception as error:
            return self.print_error(error)
        return True

    def print_error(self, error: Exception) -> bool:
        """Print an error on a line, with its traceback only in the debug mode; return `False`."""
        self.has_failed = True
        if self.switches.debug and not isinstance(error, ShellInputError):
            err.print(
                escape_controls(mask_secrets("".join(format_exception(error)))),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            return False
        text = str(error) if isinstance(error, TacticianError) else describe_error(error)
        err.print(
            f"[bold red]error:[/bold red] {escape(escape_controls(mask_secrets(text)))}",
            soft_wrap=True,
            highlight=False,
        )
        return False

    async def find_agent(self, request: str, name: str | None, mode: Mode) -> Runnable:
        """Return the agent with a name, the only agent, or the agent that a model chooses for a request.

        Raises:
            AgentNotFoundError: when the agent does not exist, or the model is not sure enough.
        """
        if name is not None:
            return self.get_agent(name)
        if mode == "closed" and (agent := find_only_agent(self.platform)) is not None:
            return agent
        return await choose_by_request(self.platform, request, "There are", mode)

    def get_agent(self, name: str) -> Runnable:
        """Return the agent with a name.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        if name not in self.agents:
            hint = did_you_mean(name, self.agents)
            raise AgentNotFoundError(f"There is no agent {name!r}.{hint} There are: {', '.join(self.agents)}.")
        return self.agents[name]

    def open_chat(self, agent: str | None, conversation_id: str | None) -> Chat:
        """Return the conversation with an id, or a new one, with the agent of a name, or the only one there is.

        Raises:
            AgentNotFoundError: when no agent has the name.
        """
        name = find_partner(self.platform) if agent is None else self.get_agent(agent).name
        service = AgentService(self.platform)
        return Chat(service, self.lines, conversation_id or service.create_conversation(), self.find_agent, name)

    async def finish(self, outcome: Outcome) -> None:
        """Let the person answer what a run asks, and print its result, or what it waits for.

        Raises:
            ProcessError: when it has ended without reaching its goal.
        """
        outcome = await answer_requests(self.platform, outcome, Asker(err, self.lines.ask), self.view.watch)
        self.last_run = find_run_id(outcome)
        if outcome.pending:
            print_pending(err, outcome.pending)
            err.print("[yellow]It waits.[/yellow] `respond` asks again.", highlight=False)
        elif outcome.status is RunStatus.PAUSED:
            err.print(f"It is paused. `resume {self.last_run}` continues it.", highlight=False)
        else:
            print_result(outcome)

    async def find_run(self, text: str) -> str:
        """Return the id of a run that begins with a text, or of the last run when the text is empty.

        Raises:
            RunNotFoundError: when no run or more than one run has such an id.
        """
        if not text and not self.last_run:
            raise RunNotFoundError("There is no run yet: `execute` starts one, `runs --all` lists stored runs.")
        if not text or text in self.known_runs:
            return text or self.last_run
        run_ids = [*self.known_runs, *(run.id for run in await self.platform.runs())]
        matches = sorted({run_id for run_id in run_ids if run_id.startswith(text)})
        if text in matches:
            return text
        if len(matches) != 1:
            several = f"Several runs begin with {text!r}: {', '.join(matches[:5])}."
            raise RunNotFoundError(several if matches else f"There is no run {text!r}. `runs --all` lists them.")
        return matches[0]

    @contextmanager
    def show_run(
        self, *, prompts: bool = False, responses: bool = False, debug: bool = False
    ) -> Iterator[ProgressView]:
        """Show what the switches say, and more, during the `with` block."""
        view, switches, was_debug = self.view, self.switches, self.switches.debug
        view.board = TaskBoard()
        view.prompts, view.responses = prompts or switches.prompts, responses or switches.responses
        view.events = switches.debug = debug or switches.debug
        try:
            with view.watch():
                yield view
        finally:
            view.prompts = view.responses = view.events = False
            view.spec, switches.debug = None, was_debug

    def _find_command(self, name: str) -> ShellCommand:
        if (command := self.commands.get(name)) is None:
            hint = did_you_mean(name, self.commands)
            raise ShellInputError(f"There is no command {name!r}.{hint} `help` lists them; `x TEXT` runs an agent.")
        return command

    async def _call(self, command: ShellCommand, arguments: Mapping[str, object]) -> None:
        services_by_type: dict[type, object] = {Platform: self.platform, ShellSession: self, ShellHistory: self.history}
        services = {name: services_by_type[kind] for name, kind in command.services.items()}
        result = command.function(**arguments, **services)
        if isawaitable(result):
            result = await result
        if result is not None:
            out.print(format_output(result), markup=False, highlight=False, soft_wrap=True)

    async def _say_interrupted(self) -> None:
        err.print("[bold red]interrupted[/bold red]")
        with suppress(TacticianError):
            run = next((run for run in await self.platform.runs() if run.id == self.last_run), None)
            if run is not None and (run.was_interrupted or run.status == RunStatus.WAITING):
                err.print(f"`resume {run.id}` continues it, `kill {run.id}` ends it.", highlight=False)
