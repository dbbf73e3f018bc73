"""Confined folders: folders that the paths of a model cannot leave."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tactician.errors import ConfigurationError, ToolError
from tactician.suggestions import did_you_mean

_MAX_PATH: Final = 1_000
_MAX_DEPTH: Final = 50
_MAX_NAMES: Final = 100
_LINKS: Final = (errno.ELOOP, errno.EMLINK)


class ConfinedFolder:
    """Folder in which tools read and write files.

    Each part of a path is opened by itself, from the folder before it, and without following links. So a path cannot
    leave the folder, not even when somebody replaces a part of it meanwhile.

    Args:
        root: the folder. It may itself be a link; what is in it may not.

    Raises:
        ConfigurationError: on a platform that cannot open files relative to an open folder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise ConfigurationError("This platform has no safe way to stay in a folder, which file tools need.")
        self.root = Path(root).absolute()

    def __repr__(self) -> str:
        return f"ConfinedFolder({str(self.root)!r})"

    def read(self, path: str, offset: int, size: int) -> tuple[bytes, int]:
        """Return up to `size` bytes of a file from an offset, and the size of the file.

        Raises:
            ToolError: when there is no such file in the workspace.
            ConfigurationError: when there is no workspace.
        """
        parts = _split(path)
        with self._open_folder(parts[:-1], path) as folder, _explain(path, folder, parts[-1]):
            # Without O_NONBLOCK, opening a named pipe would wait for its other end.
            file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            try:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    raise ToolError(_describe_other(path, file, status.st_mode))
                return os.pread(file, size, min(offset, status.st_size)), status.st_size
            finally:
                os.close(file)

    def write(self, path: str, content: bytes) -> None:
        """Write a file as a whole, with the folders that lead to it. Nobody ever sees a part of it.

        Raises:
            ToolError: when the path leads out of the workspace, or to what is not a file.
            ConfigurationError: when the workspace is not a folder.
        """
        parts = _split(path)
        with suppress(OSError):
            self.root.mkdir(parents=True, exist_ok=True)
        with self._open_folder(parts[:-1], path, create=True) as folder, _explain(path, folder, parts[-1]):
            mode = _find_mode(parts[-1], folder, path)
            draft = f".tactician-{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with os.fdopen(os.open(draft, flags, mode, dir_fd=folder), "wb") as opened:
                    opened.write(content)
                os.replace(draft, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise

    def remove(self, path: str) -> None:
        """Remove a file.

        Raises:
            ToolError: when there is no such file in the workspace.
            ConfigurationError: when there is no workspace.
        """
        parts = _split(path)
        with self._open_folder(parts[:-1], path) as folder, _explain(path, folder, parts[-1]):
            os.unlink(parts[-1], dir_fd=folder)

    @contextmanager
    def _open_folder(self, parts: list[str], path: str, *, create: bool = False) -> Iterator[int]:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            folder = os.open(self.root, flags)
        except OSError as error:
            raise ConfigurationError(f"The workspace {self.root} is not a folder that can be read: {error}") from error
        try:
            for part in parts:
                with _explain(path, folder, part):
                    if create:
                        with suppress(FileExistsError):
                            os.mkdir(part, dir_fd=folder)
                    inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)


def _split(path: str) -> list[str]:
    """Return the parts of a path.

    Raises:
        ToolError: when it is absolute, goes upwards, or is empty or very long.
    """
    if len(path) > _MAX_PATH or path.count("/") > _MAX_DEPTH:
        raise ToolError("The path is too long.")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise ToolError(f"{path!r} is not a path inside the workspace: make it relative, without '..'.")
    if not parts:
        raise ToolError("The path is empty: name a file in the workspace.")
    return parts


@contextmanager
def _explain(path: str, folder: int, name: str) -> Iterator[None]:
    """Turn an error of the system into an error that a model can act on."""
    try:
        yield
    except FileNotFoundError as error:
        hint = did_you_mean(name, _list_names(folder))
        raise ToolError(f"There is no {path!r} in the workspace.{hint}") from error
    except (ValueError, UnicodeError) as error:
        raise ToolError(f"{path!r} is not a valid path: {error}.") from error
    except OSError as error:
        if error.errno in _LINKS or _is_link(name, folder):
            raise ToolError(f"{path!r} has a link in it, and links are not followed.") from error
        raise ToolError(f"{path!r}: {error.strerror or type(error).__name__}.") from error


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _find_mode(name: str, folder: int, path: str) -> int:
    """Return the permissions of a file that is replaced, or of a new file."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0o666
    if stat.S_ISREG(mode):
        return stat.S_IMODE(mode) & 0o777
    kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"
    raise ToolError(f"{path!r} is {kind}: choose another name.")


def _describe_other(path: str, file: int, mode: int) -> str:
    if not stat.S_ISDIR(mode):
        return f"{path!r} is not a file."
    names = _list_names(file)
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{path!r} is a folder, with: {', '.join(names[:_MAX_NAMES]) or 'nothing'}{more}."


def _list_names(folder: int) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
