"""Detection of the parts of a repository, by the files that build systems need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from typing_extensions import Unpack

from tactician.coding.projects.folder import ProjectFolder
from tactician.coding.projects.javascript import detect_javascript, has_workspaces
from tactician.coding.projects.jvm import detect_gradle, detect_maven
from tactician.coding.projects.native import detect_cargo, detect_cmake, detect_go, detect_make
from tactician.coding.projects.other_languages import detect_dotnet, detect_php, detect_ruby
from tactician.coding.projects.project import Project, ProjectPart, ProjectSettings
from tactician.coding.projects.python import detect_python
from tactician.errors import ConfigurationError

_Detector: TypeAlias = Callable[[ProjectFolder], ProjectPart | None]
_MAX_DEPTH: Final = 3
_MAX_FOLDERS: Final = 2_000
_EXCLUSIVE: Final[tuple[tuple[_Detector, ...], ...]] = ((detect_gradle, detect_maven), (detect_cmake,))
"""Build systems of which a folder has one, the first."""
_INDEPENDENT: Final[tuple[_Detector, ...]] = (
    detect_python,
    detect_javascript,
    detect_go,
    detect_cargo,
    detect_dotnet,
    detect_ruby,
    detect_php,
)
_WHOLE: Final = frozenset({"Gradle", "Maven", "CMake", "Make", ".NET"})
"""Build systems whose folders below belong to the part above."""


def detect_project(path: str | os.PathLike[str], **settings: Unpack[ProjectSettings]) -> Project:
    """Return the project in a folder, with a part for each build system of the repository.

    The detection reads files and runs nothing. It looks three folders deep, and follows no links.

    Args:
        path: the folder of the repository.
        **settings: what counts more than the detection, for the part in the root; see `ProjectPart`.

    Raises:
        ConfigurationError: when there is no such folder.
    """
    root = Path(path).absolute()
    if not root.is_dir():
        raise ConfigurationError(f"{root} is not a folder: name the folder of a project.")
    parts = tuple(_detect_below(root))
    if not settings:
        return Project(root, parts)
    at_root = next((part for part in parts if part.root == "."), None)
    changed = replace(at_root or ProjectPart(language="unknown", build_system="none"), **settings)
    return Project(root, (changed, *(part for part in parts if part is not at_root)))


def _detect_below(root: Path) -> Iterator[ProjectPart]:
    """Yield the parts, level by level. A folder in a part of the same build system can belong to that part."""
    waiting: list[tuple[Path, frozenset[str]]] = [(root, frozenset())]
    for count, (path, covered) in enumerate(waiting):
        folder = ProjectFolder(path)
        place = path.relative_to(root).as_posix()
        for part in _detect_here(folder):
            if part.build_system not in covered:
                yield replace(part, root=place)
            if part.build_system in _WHOLE or _is_workspace(folder, part):
                covered |= {part.build_system}
        if place.count("/") < _MAX_DEPTH - 1 and count < _MAX_FOLDERS:
            waiting += [(path / name, covered) for name in folder.inner_folders]


def _detect_here(folder: ProjectFolder) -> Iterator[ProjectPart]:
    """Yield the parts with their root in a folder. A Makefile is one only where nothing else is."""
    groups = (*_EXCLUSIVE, *((detector,) for detector in _INDEPENDENT))
    parts = [part for group in groups if (part := next(filter(None, (d(folder) for d in group)), None)) is not None]
    yield from parts
    if not parts and (part := detect_make(folder)) is not None:
        yield part


def _is_workspace(folder: ProjectFolder, part: ProjectPart) -> bool:
    """Return whether the part says that projects in folders below belong to it."""
    match part.marker:
        case "package.json":
            return has_workspaces(folder)
        case "Cargo.toml":
            return "workspace" in folder.read_toml("Cargo.toml")
        case "go.work":
            return True
        case "pyproject.toml":
            return "[tool.uv.workspace]" in folder.read("pyproject.toml")
    return "go.work" in folder.files and part.build_system == "Go"
