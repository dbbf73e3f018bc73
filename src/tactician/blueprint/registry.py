"""`AgentRegistry`: agents in a folder of blueprints."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import Final, TypeAlias

from tactician.agents import BaseRunnable
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.origin import DEFAULT_LIMITS, FORMATS, Limits
from tactician.blueprint.references import resolve_references
from tactician.errors import AgentNotFoundError, BlueprintError, ConfigurationError
from tactician.loggers import get_logger
from tactician.names import NOTHING_REGISTERED
from tactician.suggestions import find_closest

_Stamp: TypeAlias = tuple[int, int, int] | None
_logger = get_logger(__name__)
_LONGEST: Final = 200


@dataclass(slots=True)
class _CachedAgent:
    """Agent with the stamps of the files from which it was built."""

    lock: RLock = field(default_factory=RLock)
    runnable: BaseRunnable[object] | None = None
    stamps: dict[Path, _Stamp] = field(default_factory=dict)


class AgentRegistry:
    """Agents and constellations in a folder of blueprints, each built when it is first requested.

    `simple/support` is the file `simple/support.json`, `.yaml` or `.yml` in the folder. Nothing outside of the folder
    is read, whatever a name or a link says; what begins with a dot is not an agent. Threads and tasks may share a
    registry: each file is built once, and all get the same object.

    Args:
        folder: the folder of the blueprints.
        watch: build an agent anew when any of its files has changed: its own, those it refers to, and the files of its
            instructions. Each `get` looks at their times and sizes. As long as a changed file is wrong, the last good
            agent stays in use, and the log says once what is wrong.
        allow: the packages in which names are looked up, as for `Blueprint.build`.
        names: objects for further names, as for `Blueprint.build`.
        environment: the environment variables, as for `Blueprint.build`.
        variables: the names of those that blueprints may read, as for `Blueprint.build`.
        hosts: the hosts that they may reach, as for `Blueprint.build`.
        root: the folder outside of which no file is read that a blueprint names; the folder of the registry by default.
        limits: limits on the size of blueprints, as for `Blueprint.build`.

    Raises:
        ConfigurationError: when there is no such folder.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        watch: bool = False,
        allow: Sequence[str] = (),
        names: Mapping[str, object] = NOTHING_REGISTERED,
        environment: Mapping[str, str] | None = None,
        variables: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
        root: str | Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ConfigurationError(f"{self.folder}: there is no such folder of blueprints")
        self._watch = watch
        self._allow, self._names, self._environment = tuple(allow), names, environment
        self._variables, self._hosts = variables, hosts
        self._root, self._limits = self.folder if root is None else root, limits
        self._lock = Lock()
        self._entries: dict[str, _CachedAgent] = {}

    def get(self, name: str) -> BaseRunnable[object]:
        """Return the agent with a name: the same object each time, until its file is read again.

        Raises:
            AgentNotFoundError: when there is no such file in the folder.
            BlueprintError: with every mistake in the file.
            ConfigurationError: when there are several files of that name.
        """
        if (entry := self._entries.get(name)) is None:
            self._find_file(name)
            with self._lock:
                entry = self._entries.setdefault(name, _CachedAgent())
        with entry.lock:
            if entry.runnable is None:
                entry.runnable = self._build(name, entry)
            elif self._watch and any(_read_stamp(file) != stamp for file, stamp in entry.stamps.items()):
                self._renew(name, entry)
            return entry.runnable

    def list(self) -> Sequence[str]:
        """Return the names of all agents, sorted."""
        root, names = self.folder.resolve(), set[str]()
        for folder, inner, files in os.walk(root):
            inner[:] = [name for name in inner if not name.startswith(".")]
            for file in (Path(folder, name) for name in files if not name.startswith(".")):
                if file.suffix in FORMATS and _is_inside(file, root):
                    names.add(file.relative_to(root).with_suffix("").as_posix())
        return sorted(names)

    def reload(self, name: str | None = None) -> None:
        """Forget an agent, or all agents; the next request reads the files again and raises their errors.

        Raises:
            AgentNotFoundError: when there is no agent of that name.
        """
        with self._lock:
            if name is None:
                self._entries.clear()
                return
            forgotten = self._entries.pop(name, None)
        if forgotten is None:
            self._find_file(name)

    def _build(self, name: str, entry: _CachedAgent) -> BaseRunnable[object]:
        file = self._find_file(name)
        entry.stamps = {file: _read_stamp(file)}
        if self._watch:
            entry.stamps |= {other: _read_stamp(other) for other in self._list_referenced_files(file)}
        return Blueprint.load(
            file,
            allow=self._allow,
            names=self._names,
            environment=self._environment,
            variables=self._variables,
            hosts=self._hosts,
            root=self._root,
            limits=self._limits,
        )

    def _list_referenced_files(self, file: Path) -> Sequence[Path]:
        """Return the files that a file references."""
        try:
            blueprint = Blueprint.from_file(file, limits=self._limits)
        except BlueprintError:
            return ()
        return resolve_references(
            blueprint,
            environment=self._environment,
            variables=self._variables,
            root=self._root,
            limits=self._limits,
        ).files

    def _renew(self, name: str, entry: _CachedAgent) -> None:
        """Build the agent again from its files; keep the present agent when they are invalid."""
        entry.stamps = {file: _read_stamp(file) for file in entry.stamps}
        if not any(self._list_files(name)):
            self.reload(name)
            self._find_file(name)  # raises
        try:
            entry.runnable = self._build(name, entry)
        except (Exception, SystemExit) as error:  # somebody else's code may run here
            _logger.warning("The agent %r stays as it was. %s", name, error if str(error) else type(error).__name__)

    def _find_file(self, name: str) -> Path:
        """Return the file of an agent.

        Raises:
            AgentNotFoundError: when the agent does not exist.
            ConfigurationError: when there are several.
        """
        files = list(self._list_files(name))
        if len(files) == 1:
            return files[0]
        if files:
            names = ", ".join(file.name for file in files)
            raise ConfigurationError(f"{self.folder} has several files for the agent {name!r}: {names}. Keep only one.")
        agent_names = self.list()
        meant = find_closest(name[:_LONGEST], agent_names)
        hint = f"Did you mean {meant!r}?" if meant else f"There are: {', '.join(agent_names) or 'none'}."
        raise AgentNotFoundError(f"{self.folder} has no agent {name[:_LONGEST]!r}. {hint}")

    def _list_files(self, name: str) -> Iterable[Path]:
        if any(not step or step.startswith(".") for step in name.split("/")):
            return
        for ending in FORMATS:
            file = self.folder / f"{name}{ending}"
            if _is_inside(file, self.folder.resolve()):
                yield file


def _is_inside(file: Path, root: Path) -> bool:
    """Return whether the path is a file in the folder when all links are followed."""
    try:
        return file.is_file() and file.resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):  # such a name can no file have, or the links go in a circle
        return False


def _read_stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
