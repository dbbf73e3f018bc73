"""Session of a coding agent: an open workspace, its project, and what the agent has seen of its files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from difflib import unified_diff
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Final

from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.events import ChangeKind
from tactician.coding.files.listing import list_files
from tactician.coding.files.text_file import SourceText
from tactician.coding.output import SuiteSummary
from tactician.coding.projects.project import Project
from tactician.coding.trees.syntax import find_mistake
from tactician.coding.workspaces.git import Git
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.errors import ConfigurationError, ToolError
from tactician.frozen import frozen
from tactician.runs import RunContext
from tactician.tools.builtin.confined_folder import ConfinedFolder

MAX_EDIT: Final = 5_000_000
"""Bytes of a file that can be edited, or read as a whole."""
_MAX_DIFF: Final = 20_000


@frozen
class FileEdit:
    """Change of a file that was made: its kind, the text before and after it, and the change as a patch."""

    path: str
    kind: ChangeKind
    text: str
    diff: str


class CodingSession:
    """Work of an agent in an open workspace.

    Tools get the session of their run by a parameter of this type.

    Args:
        workspace: the open workspace.
        project: the detected project.
        policy: the rules for commands.
    """

    def __init__(self, workspace: OpenWorkspace, project: Project, policy: CommandPolicy) -> None:
        self.workspace = workspace
        self.project = project
        self.policy = policy
        self.before = SuiteSummary()
        """The tests before the work."""
        self.measured: tuple[bytes, SuiteSummary] | None = None
        """The tests after the work, with the digest of the changes for which they count."""
        self._files = ConfinedFolder(workspace.path)
        self._originals: dict[str, bytes] = {}
        self._changed: dict[str, bytes] = {}
        self._states: Counter[frozenset[tuple[str, bytes]]] = Counter({frozenset(): 1})
        self._seen: dict[str, bytes] = {}
        self._lock = Lock()

    @classmethod
    def __from_run__(cls, run: RunContext) -> CodingSession:
        """Return the session of a run.

        Raises:
            ConfigurationError: when the run is not in a workspace.
        """
        if (session := run.find(cls)) is None:
            raise ConfigurationError(
                "A coding tool works in a workspace: use it in a CodingAgent, or make it with coding_tools(workspace)."
            )
        return session

    @property
    def returns(self) -> int:
        """The number of times that the agent has brought the files back to their present state."""
        return self._states[frozenset(self._changed.items())] - 1

    def digest_changes(self) -> bytes:
        """Return a digest of all changes since the beginning, also of changes that commands made."""
        return _digest(self.workspace.diff().encode())

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self.workspace.path

    def list_files(self) -> list[str]:
        """Return the paths of all files, except those that git ignores."""
        repository = self.root / ".git"
        return list_files(self.root, Git(folder=self.root) if repository.exists() else None)

    def read_bytes(self, path: str, offset: int, size: int) -> tuple[bytes, int]:
        """Return a part of a file, and the size of the file.

        Raises:
            ToolError: when there is no such file, or it belongs to git.
        """
        return self._files.read(_check(path), offset, size)

    def read(self, path: str) -> SourceText:
        """Return the text of a file, and remember it as seen.

        Raises:
            ToolError: when there is no such text file, or it is too long.
        """
        content, size = self.read_bytes(path, 0, MAX_EDIT)
        if size > MAX_EDIT:
            raise ToolError(f"{path!r} has {size:,} bytes, and files of up to {MAX_EDIT:,} bytes can be edited.")
        file = SourceText.decode(content, path)
        self._seen[_key(path)] = _digest(content)
        return file

    def edit(self, path: str, change: Callable[[str], str], *, needs_reading: bool = False) -> FileEdit:
        """Change the text of a file, unless it no longer parses then.

        Args:
            path: the file.
            change: function from the text to the changed text.
            needs_reading: refuse a file that the agent has not read as it is.

        Raises:
            ToolError: when the file cannot be changed so; then it stays as it is.
        """
        self._need_writable()
        with self._lock:
            before = self._seen.get(_key(path))
            file = self.read(path)
            if needs_reading and before != self._seen[_key(path)]:
                problem = "has not been read yet" if before is None else "has changed since it was read"
                raise ToolError(f"{path} {problem}. Read it first, and use the line numbers that you see then.")
            text = change(file.text)
            if text == file.text:
                raise ToolError(f"{path} would stay the same.")
            refuse_broken(path, file.text, text)
            return self._write(path, file, text, "modified")

    def write(self, path: str, text: str) -> FileEdit:
        """Write a file as a whole, with the folders that lead to it.

        Raises:
            ToolError: when the agent has not read the file that it would replace, or the text does not parse.
        """
        self._need_writable()
        with self._lock:
            before = self._seen.get(_key(path))
            try:
                file = self.read(path)
            except ToolError as error:
                if os.path.lexists(self.root / path):
                    raise
                del error
                refuse_broken(path, None, text)
                return self._write(path, SourceText(""), text, "added")
            if before != self._seen[_key(path)]:
                raise ToolError(f"{path} is there, and differs from what you have read: read it before you replace it.")
            refuse_broken(path, file.text, text)
            return self._write(path, file, text, "modified")

    def remove(self, path: str) -> FileEdit:
        """Remove a text file.

        Raises:
            ToolError: when there is no such file.
        """
        self._need_writable()
        with self._lock:
            file = self.read(path)
            self._files.remove(path)
            self._note(path, "deleted", b"")
            del self._seen[_key(path)]
            return FileEdit(path, "deleted", "", compare(path, file.text, ""))

    def _write(self, path: str, file: SourceText, text: str, kind: ChangeKind) -> FileEdit:
        content = file.encode(text)
        if len(content) > MAX_EDIT:
            raise ToolError(f"The text has {len(content):,} bytes, and at most {MAX_EDIT:,} can be written.")
        self._files.write(_check(path), content)
        self._note(path, kind, _digest(content))
        return FileEdit(path, kind, text, compare(path, file.text, text))

    def _note(self, path: str, kind: ChangeKind, digest: bytes) -> None:
        """Note a change, and that the files are in this state once more."""
        key = _key(path)
        before = b"" if kind == "added" else self._seen[key]
        original = self._originals.setdefault(key, before)
        self._seen[key] = self._changed[key] = digest
        if digest == original:
            del self._changed[key]
        self._states[frozenset(self._changed.items())] += 1

    def _need_writable(self) -> None:
        if not self.workspace.is_writable:
            raise ToolError("This workspace is read-only: nothing can be changed in it.")


def refuse_broken(path: str, before: str | None, after: str) -> None:
    """Refuse a text that no longer parses. A file that did not parse before may be mended step by step.

    Raises:
        ToolError: with the line of the mistake.
    """
    mistake = find_mistake(path, after)
    if mistake is not None and (before is None or find_mistake(path, before) is None):
        line = after.split("\n")[mistake.line - 1 : mistake.line]
        raise ToolError(
            f"Not written: {path} would not parse any more. Line {mistake.line}: {mistake.message}.\n"
            f"{mistake.line:>6}\t{line[0] if line else ''}\nMend the new text, and try again."
        )


def compare(path: str, before: str, after: str) -> str:
    """Return a change as a patch, shortened to what people read."""
    names = (f"a/{path}", f"b/{path}")
    lines = unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    text = "\n".join(lines)
    return text if len(text) <= _MAX_DIFF else f"{text[:_MAX_DIFF]}\n[...]"


def _check(path: str) -> str:
    """Return a path that is not one of git: a file there can run programs of the user.

    Raises:
        ToolError: when it leads into the folder of git.
    """
    if any(part.casefold().rstrip(". ") == ".git" for part in path.split("/")):
        raise ToolError(f"{path!r} belongs to git: use the git tool.")
    return path


def _key(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
