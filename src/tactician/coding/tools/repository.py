"""Tools for the history of a repository, for its symbols and for its map."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, Literal

from tactician.coding.errors import WorkspaceError
from tactician.coding.session import CodingSession
from tactician.coding.trees.repository_map import draw_map
from tactician.coding.trees.symbols import find_symbol_definitions, find_uses
from tactician.coding.workspaces.git import Git, find_identity
from tactician.errors import ToolError
from tactician.tools import tool

_REVISION: Final = re.compile(r"[A-Za-z0-9_./^~@{}-]{1,200}")
_LONGEST: Final = 20_000
_MAX_SYMBOLS: Final = 100
_QUIET: Final = ("--no-ext-diff", "--no-textconv")


@tool(blocking=True)
def git(
    session: CodingSession,
    action: Literal["status", "diff", "log", "show", "blame", "stage", "restore", "commit"],
    paths: list[str] | None = None,
    revision: str = "",
    message: str = "",
) -> str:
    """Work with git: look at the state and the history, stage, restore and commit. Nothing is pushed or merged.

    Args:
        session: the session of the run
        action: what to do; "restore" takes files back to the last commit
        paths: the files; all by default, except for "blame", "stage" and "restore"
        revision: a commit, a branch or a range, for "diff", "log", "show" and "blame"
        message: the message of a commit
    """
    if revision and (revision.startswith("-") or not _REVISION.fullmatch(revision)):
        raise ToolError(f"{revision!r} is not a commit, a branch or a range.")
    if action in ("blame", "stage", "restore") and not paths:
        raise ToolError(f"Name the files to {action} in paths.")
    if action in ("stage", "restore", "commit") and not session.workspace.branch:
        raise ToolError("Only in a worktree may you stage, restore and commit: here it is the user who does that.")
    tail = ("--", *(paths or ()))
    try:
        return _run(session, action, revision, message, tail)[:_LONGEST] or "(nothing)"
    except WorkspaceError as error:
        raise ToolError(str(error)) from error


def _run(session: CodingSession, action: str, revision: str, message: str, tail: tuple[str, ...]) -> str:
    git = Git(folder=session.root)
    named = (revision,) if revision else ()
    match action:
        case "status":
            return git.read("status", "--short", "--branch", *tail)
        case "diff":
            return git.read("diff", *_QUIET, *(named or ("HEAD",)), *tail)
        case "log":
            return git.read("log", *_QUIET, "--oneline", "--date=short", "-n", "30", *named, *tail)
        case "show":
            return git.read("show", *_QUIET, *named, *tail)
        case "blame":
            return git.read("blame", "--date=short", *named, *tail)
        case "stage":
            return git.read("add", *tail) or "Staged."
        case "restore":
            return git.read("restore", "--staged", "--worktree", *tail) or "Restored."
    if not message.strip():
        raise ToolError("A commit needs a message.")
    git = git.with_variables(**find_identity(session.workspace.source))
    git.run("add", "--all", *tail)
    return git.run("commit", "--no-verify", "-F", "-", input=message.encode()).decode(errors="replace")


@tool(blocking=True)
def symbols(session: CodingSession, name: str, uses: bool = False) -> str:
    """Find the definitions of a function, class or other symbol; or the places at which it is used.

    Args:
        session: the session of the run
        name: the name, or Class.method
        uses: list the uses instead of the definitions
    """
    paths = session.list_files()
    if uses:
        used = list(islice(find_uses(session.root, paths, name.rpartition(".")[2]), _MAX_SYMBOLS))
        return "\n".join(f"{path}:{line}: {text[:200]}" for path, line, text in used) or f"{name} is used nowhere."
    defined = list(islice(find_symbol_definitions(session.root, paths, name), _MAX_SYMBOLS))
    lines = [f"{path}:{d.line}-{d.last}: {d.kind} {d.signature}" for path, d in defined]
    return "\n".join(lines) or f"No definition of {name!r} was found. Search for it with grep."


@tool(blocking=True)
def repository_map(session: CodingSession, folder: str = ".", tokens: int = 2_000) -> str:
    """Show the definitions that the repository uses most, file by file.

    Args:
        session: the session of the run
        folder: only files below this folder
        tokens: length of the map, up to 8000
    """
    place = folder.strip("./")
    paths = [path for path in session.list_files() if not place or path.startswith(f"{place}/")]
    drawn = draw_map(session.root, paths, tokens=max(100, min(tokens, 8_000)))
    return drawn or "No definitions were found. List the files with glob."
