"""Locks of workspaces, which the system releases when a program dies, and records of their owners."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from pydantic import TypeAdapter, ValidationError

from tactician.coding.errors import WorkspaceLockedError
from tactician.environment import read_environment
from tactician.frozen import frozen

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


@frozen(kw_only=True)
class WorkspaceRecord:
    """Record of a workspace, beside its folder.

    Attributes:
        name: its name.
        source: the folder of the repository.
        base: the commit, or the tree, with which it began.
        branch: its branch; empty, when it has none.
        run_id: the durable run that owns it and continues in it; empty, when only a program does.
        is_kept: true when the work in it succeeded.
    """

    name: str
    source: str
    base: str = ""
    branch: str = ""
    run_id: str = ""
    is_kept: bool = False


class WorkspaceLock:
    """Lock of a workspace: of one program at a time, and of one place in it.

    Args:
        file: the file that is locked. It stays as long as the workspace.

    Raises:
        WorkspaceLockedError: when somebody else has the lock.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = file
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise WorkspaceLockedError(f"Another program works in the workspace {file.stem!r}.") from error

    @classmethod
    def acquire(cls, file: Path) -> Self:
        """Return a lock of a file that is still there: the last owner may have removed it meanwhile."""
        while True:
            lock = cls(file)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock._descriptor), file.stat()):
                    return lock
            lock.release()

    def release(self, *, removes: bool = False) -> None:
        """Release the lock.

        Args:
            removes: remove the file too, before anybody else can have the lock.
        """
        if removes:
            self.file.unlink(missing_ok=True)
        os.close(self._descriptor)


class WorkspaceFolder:
    """Folder with workspaces of a repository, their locks and their records.

    Args:
        source: the repository.
        folder: the folder; by default one below `XDG_STATE_HOME`, or `~/.local/state`.
    """

    def __init__(self, source: Path, folder: Path | None = None) -> None:
        digest = sha256(os.fsencode(source.resolve())).hexdigest()[:8]
        label = f"{_UNSAFE.sub('-', source.resolve().name)[:40] or 'root'}-{digest}"
        self.path = (folder or _find_state_folder()) / label

    def find_work(self, name: str) -> Path:
        """Return the folder of a workspace."""
        return self.path / name

    def find_lock(self, name: str) -> Path:
        """Return the file of its lock."""
        return self.path / f"{name}.lock"

    def find_history(self, name: str) -> Path:
        """Return the folder of a private repository, which has the state at the beginning."""
        return self.path / f"{name}.git"

    @property
    def home(self) -> Path:
        """The folder that programs have as their home: the caches in it are for all workspaces of the repository."""
        return self.path / "home"

    def save(self, record: WorkspaceRecord) -> None:
        """Save a record as a whole."""
        file = self.path / f"{record.name}.json"
        draft = file.with_suffix(".draft")
        draft.write_bytes(TypeAdapter(WorkspaceRecord).dump_json(record))
        draft.replace(file)

    def load(self, name: str) -> WorkspaceRecord | None:
        """Return a record; `None`, when it is not there or cannot be read."""
        try:
            data = json.loads((self.path / f"{name}.json").read_bytes())
            return TypeAdapter(WorkspaceRecord).validate_python(data)
        except (OSError, ValueError, ValidationError):
            return None

    def remove_record(self, name: str) -> None:
        """Remove a record."""
        for ending in ("json", "draft"):
            (self.path / f"{name}.{ending}").unlink(missing_ok=True)

    def list_records(self) -> Iterator[WorkspaceRecord]:
        """Yield the records, by name."""
        for file in sorted(self.path.glob("*.json")) if self.path.is_dir() else ():
            if (record := self.load(file.stem)) is not None:
                yield record


def remove_orphans(place: WorkspaceFolder, remove: Callable[[WorkspaceFolder, WorkspaceRecord], None]) -> None:
    """Remove the workspaces whose program has died, and which neither a person nor a run wants to keep.

    Args:
        place: the folder with the workspaces.
        remove: function that removes the work of one of them.
    """
    for record in tuple(place.list_records()):
        if record.is_kept or record.run_id:
            continue
        with suppress(WorkspaceLockedError):
            lock = WorkspaceLock(place.find_lock(record.name))
            remove(place, record)
            place.remove_record(record.name)
            lock.release(removes=True)


def _find_state_folder() -> Path:
    environment = read_environment()
    state = environment.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "tactician/workspaces"
