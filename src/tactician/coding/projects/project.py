"""Projects as data: parts with a build system, their folders and their commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from typing_extensions import TypedDict

from tactician.frozen import frozen


class ProjectSettings(TypedDict, total=False):
    """Settings of a project that count more than the detected ones; see `ProjectPart`."""

    language: str
    build_system: str
    build_command: str | None
    test_command: str | None
    lint_command: str | None
    format_command: str | None
    source_folders: tuple[str, ...]
    test_folders: tuple[str, ...]


@frozen(kw_only=True)
class ProjectPart:
    """Part of a repository with its own build system.

    Attributes:
        root: its folder, relative to the repository; `"."` for the repository itself.
        language: the main language, such as `"Python"`.
        build_system: the build system, such as `"Gradle"` or `"uv"`.
        build_command: the command that builds it, run in `root`; `None`, when nothing is built.
        test_command: the command that runs all tests; `None`, when no tests were found.
        lint_command: the command that finds mistakes without running the program.
        format_command: the command that formats the sources.
        source_folders: folders with sources, relative to `root`.
        test_folders: folders with tests, relative to `root`. In some languages tests stand beside the sources.
        marker: the file by which it was detected.
    """

    root: str = "."
    language: str
    build_system: str
    build_command: str | None = None
    test_command: str | None = None
    lint_command: str | None = None
    format_command: str | None = None
    source_folders: tuple[str, ...] = (".",)
    test_folders: tuple[str, ...] = ()
    marker: str = ""

    @property
    def label(self) -> str:
        """Language and build system, for messages."""
        return f"{self.language} with {self.build_system}"

    def describe(self) -> Iterator[str]:
        """Yield lines about it for a model."""
        yield f"{self.label}, in {'the root' if self.root == '.' else self.root}"
        yield f"  sources: {', '.join(self.source_folders)}; tests: {', '.join(self.test_folders) or 'none found'}"
        for name in ("build", "test", "lint", "format"):
            if (command := getattr(self, f"{name}_command")) is not None:
                yield f"  {name}: {command}"


@frozen
class Project:
    """Repository, with all parts that were detected. Most have a single part.

    Attributes:
        root: the folder of the repository.
        parts: the parts, the root first.
    """

    root: Path
    parts: tuple[ProjectPart, ...]

    @property
    def main(self) -> ProjectPart | None:
        """The first part; `None` when no build system was detected."""
        return self.parts[0] if self.parts else None

    def describe(self) -> str:
        """Return the project in words, for the instructions of a model."""
        if not self.parts:
            return "No build system was detected. Read the files to learn how the project is built and tested."
        return "\n".join(line for part in self.parts for line in part.describe())
