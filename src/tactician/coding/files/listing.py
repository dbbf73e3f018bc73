"""List of the files of a workspace: those that git would add, without links and without what others wrote."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from tactician.coding.errors import WorkspaceError
from tactician.coding.workspaces.git import Git
from tactician.errors import ToolError

_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"})
MAX_FILES: Final = 200_000
_TOKENS: Final = re.compile(r"\*\*/|\*\*|\[[!^]?[^\]/]+\]|.", re.DOTALL)
_WILDCARDS: Final = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def list_files(root: Path, git: Git | None = None) -> list[str]:
    """Return the paths of all files, relative to the root and sorted. Folders come in the order of their names.

    Args:
        root: the folder.
        git: git in the folder; without it all files count, except dependencies.
    """
    paths = _list_by_git(git) if git is not None else None
    if paths is None:
        paths = list(_walk(root))
    return sorted(path for path in paths[:MAX_FILES] if _is_file(root, path))


def _list_by_git(git: Git) -> list[str] | None:
    try:
        listed = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    except WorkspaceError:
        return None
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def _walk(root: Path) -> Iterator[str]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED]
        place = Path(folder).relative_to(root)
        yield from ((place / name).as_posix() for name in files)


def _is_file(root: Path, path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(f"{root}/{path}").st_mode)
    except OSError:
        return False


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern for paths: `*` and `?` within a name, `**` across folders, `{a,b}`.

    A pattern without a slash is compared with the name of the file in every folder.

    Raises:
        ToolError: when it is not a pattern.
    """
    plain = pattern.removeprefix("./")
    whole = plain if "/" in plain else f"**/{plain}"
    try:
        return re.compile("".join(_translate(whole)), re.DOTALL)
    except re.error as error:
        raise ToolError(
            f"{pattern!r} is not a pattern for paths: {error}. Use '*', '**', '?', '[abc]' or '{{a,b}}'."
        ) from error


def _translate(pattern: str) -> Iterator[str]:
    """Yield the regular expression of each token."""
    depth = 0
    for token in _TOKENS.findall(pattern):
        if token == "{":
            depth += 1
            yield "(?:"
        elif token == "}" and depth:
            depth -= 1
            yield ")"
        elif token == "," and depth:
            yield "|"
        elif token[0] == "[" and len(token) > 2:
            inside = token[1:-1].replace("\\", "\\\\")
            yield f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
        else:
            yield _WILDCARDS.get(token) or re.escape(token)
    yield ")" * depth
