"""Work of a coding agent from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape
from rich.syntax import Syntax

from tactician.cli.console import err, out, say
from tactician.cli.outcomes import WAITING, Outcome, answer_requests, find_run_id, print_pending
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import create_asker, open_catalog
from tactician.cli.stores import find_store, format_store_option
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.frozen import frozen
from tactician.platform import Platform
from tactician.process import AgentProcess
from tactician.runs import RunStatus
from tactician.stores import DocumentStore, open_store
from tactician.text import escape_controls

if TYPE_CHECKING:
    from tactician.coding import CodingAgent, CodingOutput, CodingTask, CommandPolicy, Workspace

Request = Annotated[str, typer.Argument(help="The work, in your words.")]
Folder = Annotated[Path, typer.Option("--folder", "-C", help="The folder of the repository.")]
InWorktree = Annotated[
    bool, typer.Option("--worktree", help="Work in a git worktree on a branch of its own, and leave your files alone.")
]
Verify = Annotated[bool, typer.Option("--verify", help="Accept the work only when the tests pass.")]
Ask = Annotated[bool, typer.Option("--ask", help="Ask before each change of a file, and show it.")]
Trust = Annotated[bool, typer.Option("--trust", help="Run commands without a sandbox, and without asking.")]
BuildCommand = Annotated[str | None, typer.Option("--build", help="The command that builds the project.")]
TestCommand = Annotated[str | None, typer.Option("--test", help="The command that runs the tests.")]
AGENT: Final = "coder"


@frozen(kw_only=True)
class CodeOptions:
    """Options of all commands with which a coding agent works."""

    folder: Path = Path()
    worktree: bool = False
    verify: bool = False
    ask: bool = False
    trust: bool = False
    build: str | None = None
    test: str | None = None
    model: str | None = None
    store: str | None = None
    no_input: bool = False
    prompts: bool = False
    responses: bool = False

    def create_agent(self, *, is_review: bool = False) -> CodingAgent:
        """Return the agent. The same options make the same agent again, so that a stored run continues."""
        from tactician.coding import CodingAgent

        commands = {"build_command": self.build, "test_command": self.test}
        return CodingAgent(
            AGENT,
            workspace=self._create_workspace(is_review),
            commands=self._create_policy(),
            require_approval=self.ask,
            verify=self.verify,
            project={name: command for name, command in commands.items() if command is not None},  # type: ignore[arg-type]
        )

    def _create_workspace(self, is_review: bool) -> Workspace:
        from tactician.coding import Workspace

        if self.worktree:
            return Workspace.worktree(self.folder)
        return Workspace.read_only(self.folder) if is_review else Workspace.in_place(self.folder)

    def _create_policy(self) -> CommandPolicy:
        from tactician.coding import CommandPolicy

        return CommandPolicy(mode="trusted" if self.trust else "sandbox")

    def format(self) -> str:
        """Return the options that have to be the same when a stored run continues."""
        flags = {"--worktree": self.worktree, "--verify": self.verify, "--ask": self.ask, "--trust": self.trust}
        named = " ".join(name for name, is_set in flags.items() if is_set)
        return f"-C {self.folder} {named}{format_store_option(self.store)}".replace("  ", " ")


def work_on(task: CodingTask, options: CodeOptions) -> None:
    """Let a coding agent do a task, and print what came out.

    Raises:
        Exit: with code 3, when the run waits for somebody.
    """
    agent = options.create_agent(is_review=task.kind == "review")

    async def start(platform: Platform) -> Outcome:
        return await platform.run(agent, task.content)

    _finish(asyncio.run(_run(agent, options, start)), options)


def resume_work(run_id: str, options: CodeOptions) -> None:
    """Continue a run of a coding agent that a store keeps, in its workspace.

    Raises:
        ConfigurationError: without a store.
        Exit: with code 3, when the run waits again.
    """
    if find_store(options.store) is None:
        raise ConfigurationError("Name the store that keeps the run with --store.")
    agent = options.create_agent()

    async def resume(platform: Platform) -> Outcome:
        platform.register(agent)
        return await platform.resume(run_id)

    _finish(asyncio.run(_run(agent, options, resume)), options)


async def _run(agent: CodingAgent, options: CodeOptions, start: Callable[[Platform], Awaitable[Outcome]]) -> Outcome:
    """Run an agent on a platform, and let the person at the terminal answer what it asks."""
    view = ProgressView(err, options.prompts, options.responses)
    async with AsyncExitStack() as stack:
        opened = find_store(options.store)
        documents: DocumentStore | None = None
        if opened is not None:
            documents = await stack.enter_async_context(open_store(opened))
        platform = Platform(models=open_catalog(options.model), on_event=view, store=documents)
        try:
            with view.watch():
                outcome = await start(platform)
            return await answer_requests(platform, outcome, create_asker(options.no_input), view.watch)
        except asyncio.CancelledError:
            if documents is not None:
                say(f"`tactician ps` has the id. Go on with: tactician code resume ID {options.format()}")
            raise


def serve_at_editor(model: str | None, store: str | None) -> None:
    """Serve the editor that has started this program, until it leaves. Standard output is the protocol's."""
    with require_extra("coding", "The protocol of editors needs"):
        from tactician.coding.editor.server import serve_editor

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            opened = find_store(store)
            documents = None if opened is None else await stack.enter_async_context(open_store(opened))
            await serve_editor(Platform(models=open_catalog(model), store=documents))

    asyncio.run(serve())


def _finish(outcome: Outcome, options: CodeOptions) -> None:
    from tactician.coding import CodingOutput

    if outcome.pending:
        print_pending(err, outcome.pending)
        how = "with --store FILE to answer later" if options.store is None else "the command below, in a terminal"
        say(f"It waits for an answer. Run it in a terminal, or {how}.")
        if options.store is not None:
            say(f"tactician code resume {find_run_id(outcome)} {options.format()}")
        raise typer.Exit(WAITING)
    if outcome.status is RunStatus.PAUSED:
        say(f"It is paused. Go on with: tactician code resume {find_run_id(outcome)} {options.format()}")
        raise typer.Exit(WAITING)
    result = outcome.result if isinstance(outcome, AgentProcess) else outcome.output
    if isinstance(result, CodingOutput):
        print_work(result, options.folder)


def print_work(output: CodingOutput, folder: Path) -> None:
    """Print the summary to stdout, and what was measured to stderr."""
    out.print(output.summary, markup=False, highlight=False, soft_wrap=True)
    for file in output.files:
        err.print(f"  {file.kind:<8} {escape(file.path)}", highlight=False, soft_wrap=True)
    before, after = output.tests.before, output.tests.after
    if after.is_measured:
        err.print(
            f"  tests before: {len(before.failed)} failed, {len(before.passed)} passed; "
            f"after: {len(after.failed)} failed, {len(after.passed)} passed",
            highlight=False,
            soft_wrap=True,
        )
    if output.branch:
        name = output.branch.rpartition("/")[2]
        say(f"The work is in {output.path}, on the branch {output.branch}.")
        say(f"tactician code diff {name} -C {folder} shows it, and `code apply` brings it into your files.")


def print_diff(patch: str) -> None:
    """Print a patch: in colours, where the terminal has some."""
    if out.is_terminal:
        out.print(Syntax(escape_controls(patch), "diff", background_color="default"))
    else:
        print(escape_controls(patch), end="")
