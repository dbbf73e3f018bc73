"""`tactician code`: coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from tactician.cli.code_work import (
    Ask,
    BuildCommand,
    CodeOptions,
    Folder,
    InWorktree,
    Request,
    TestCommand,
    Trust,
    Verify,
    print_diff,
    resume_work,
    serve_at_editor,
    work_on,
)
from tactician.cli.console import (
    Debug,
    ModelName,
    NoInput,
    ProcessId,
    Prompts,
    Responses,
    StoreUrl,
    err,
    out,
    print_json,
    say,
)
from tactician.errors import ConfigurationError
from tactician.terminal_tables import print_table

if TYPE_CHECKING:
    from tactician.coding.task import CodingTaskKind
    from tactician.coding.workspaces.opened import OpenWorkspace

code = typer.Typer(name="code", help="Coding agents: work on a repository.", no_args_is_help=True)
Repository = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the repository.")]
Name = Annotated[str, typer.Argument(help="The name of the worktree: see `tactician code worktrees`.")]
_HELP: Final[dict[CodingTaskKind, str]] = {
    "fix": "Fix a bug.",
    "implement": "Implement something new.",
    "refactor": "Refactor without a change of behaviour.",
    "review": "Review, and change nothing.",
    "test": "Write tests.",
}
_COLUMNS = ("build", "test", "lint", "format")


@code.callback()
def _group() -> None:
    """Coding agents: work on a repository."""


@code.command()
def detect(
    folder: Repository = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the parts as JSON instead.")] = False,
    debug: Debug = False,
) -> None:
    """Show the build systems of a repository, with the commands and folders that follow. Runs nothing."""
    from pydantic_core import to_json

    from tactician.coding import detect_project
    from tactician.coding.projects.folder import find_broken_files

    project = detect_project(folder)
    for problem in find_broken_files(project.root, [part.root for part in project.parts]):
        err.print(escape(problem))
    if as_json:
        print_json(to_json(project.parts, indent=2).decode())
        return
    if not project.parts:
        say(f"{project.root} has no build file that is recognized. Name the commands with --build and --test.")
        raise typer.Exit(1)
    rows = []
    for part in project.parts:
        named = [(name, getattr(part, f"{name}_command")) for name in _COLUMNS]
        commands = "\n".join(f"{name}: {command}" for name, command in named if command)
        folders = ("\n".join(part.source_folders), "\n".join(part.test_folders) or "none")
        rows.append((part.root, part.label, *folders, commands))
    print_table(out, ("folder", "project", "sources", "tests", "commands"), rows)


def _add_command(kind: CodingTaskKind, description: str) -> None:
    """Add the command for a kind of work."""

    def work(
        request: Request,
        folder: Folder = Path(),
        worktree: InWorktree = False,
        verify: Verify = False,
        ask: Ask = False,
        trust: Trust = False,
        build: BuildCommand = None,
        test: TestCommand = None,
        model: ModelName = None,
        store: StoreUrl = None,
        no_input: NoInput = False,
        prompts: Prompts = False,
        responses: Responses = False,
        debug: Debug = False,
    ) -> None:
        from tactician.coding import CodingTask

        options = CodeOptions(
            folder=folder,
            worktree=worktree,
            verify=verify,
            ask=ask,
            trust=trust,
            build=build,
            test=test,
            model=model,
            store=store,
            no_input=no_input,
            prompts=prompts,
            responses=responses,
        )
        work_on(CodingTask(kind, request), options)

    more = "Progress goes to stderr, the summary to stdout. Exit code 3 when it waits for an answer."
    code.command(kind, help=f"{description} {more}")(work)


for _kind, _description in _HELP.items():
    _add_command(_kind, _description)


@code.command()
def resume(
    id: ProcessId,
    folder: Folder = Path(),
    worktree: InWorktree = False,
    verify: Verify = False,
    ask: Ask = False,
    trust: Trust = False,
    build: BuildCommand = None,
    test: TestCommand = None,
    model: ModelName = None,
    store: StoreUrl = None,
    no_input: NoInput = False,
    debug: Debug = False,
) -> None:
    """Continue a run of a coding agent in its workspace, with the same options as before."""
    options = CodeOptions(
        folder=folder,
        worktree=worktree,
        verify=verify,
        ask=ask,
        trust=trust,
        build=build,
        test=test,
        model=model,
        store=store,
        no_input=no_input,
    )
    resume_work(id, options)


@code.command()
def acp(model: ModelName = None, store: StoreUrl = None, debug: Debug = False) -> None:
    """Be the coding agent of an editor that speaks the Agent Client Protocol, over standard input and output.

    Zed, JetBrains IDEs and Neovim start it as an agent server. A store keeps the conversations.
    """
    serve_at_editor(model, store)


@code.command()
def worktrees(folder: Folder = Path(), debug: Debug = False) -> None:
    """List the worktrees of coding agents: kept ones, and worktrees of runs that go on."""
    from tactician.coding.workspaces.worktrees import list_worktrees

    rows = [
        (record.name, "kept" if record.is_kept else "at work", str(path)) for record, path in list_worktrees(folder)
    ]
    if rows:
        print_table(out, ("name", "state", "folder"), rows)
    else:
        say("No worktrees. `tactician code fix ... --worktree` makes one.")


@code.command()
def diff(name: Name, folder: Folder = Path(), debug: Debug = False) -> None:
    """Show what was changed in a worktree, as a patch."""
    opened = _open(name, folder)
    try:
        print_diff(opened.diff())
    finally:
        opened.keep()


@code.command()
def apply(name: Name, folder: Folder = Path(), debug: Debug = False) -> None:
    """Apply the changes of a worktree to your files: all of them, or none."""
    opened = _open(name, folder)
    try:
        for change in opened.apply():
            out.print(f"{change.kind} {change.path}", markup=False, highlight=False, soft_wrap=True)
    finally:
        opened.keep()


@code.command()
def remove(name: Name, folder: Folder = Path(), debug: Debug = False) -> None:
    """Remove a worktree with its branch and all work in it."""
    _open(name, folder).remove()
    out.print(f"{name} was removed", markup=False, highlight=False)


def _open(name: str, folder: Path) -> OpenWorkspace:
    """Open a worktree that is there.

    Raises:
        ConfigurationError: when no worktree has the name.
    """
    from tactician.coding import Workspace
    from tactician.coding.workspaces.worktrees import list_worktrees

    records = {record.name: record for record, _ in list_worktrees(folder)}
    if name not in records:
        listed = ", ".join(records) or "no worktrees"
        raise ConfigurationError(f"No worktree {name!r} of {folder.absolute()}. There are: {listed}.")
    return Workspace.worktree(folder, name=name).open(run_id=records[name].run_id)
