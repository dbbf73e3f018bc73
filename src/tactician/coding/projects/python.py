"""Projects of Python: pip, uv and Poetry."""

from __future__ import annotations

from typing import Final

from tactician.coding.projects.folder import ProjectFolder, find_table
from tactician.coding.projects.project import ProjectPart

_MARKERS: Final = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile")
_TESTS: Final = ("tests", "test")


def detect_python(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that is a Python project."""
    if (marker := next((name for name in _MARKERS if name in folder.files), None)) is None:
        return None
    tools = find_table(folder.read_toml("pyproject.toml"), "tool")
    build, run, system = _find_system(folder, tools)
    return ProjectPart(
        language="Python",
        build_system=system,
        build_command=build if folder.has_any("pyproject.toml", "setup.py") else None,
        test_command=f"{run}pytest",
        lint_command=_find_linter(folder, tools, run),
        format_command=_find_formatter(folder, tools, run),
        source_folders=_find_sources(folder),
        test_folders=folder.select(_TESTS),
        marker=marker,
    )


def _find_system(folder: ProjectFolder, tools: object) -> tuple[str, str, str]:
    """Return the command that builds, what runs a program in the environment, and the name of the system."""
    named = tools if isinstance(tools, dict) else {}
    if "uv.lock" in folder.files or "uv" in named:
        return "uv build", "uv run ", "uv"
    if "poetry.lock" in folder.files or "poetry" in named:
        return "poetry build", "poetry run ", "Poetry"
    python = ".venv/bin/python" if (folder.path / ".venv/bin/python").exists() else "python"
    return f"{python} -m build", f"{python} -m ", "pip"


def _find_linter(folder: ProjectFolder, tools: object, run: str) -> str | None:
    named = tools if isinstance(tools, dict) else {}
    if "ruff" in named or folder.has_any("ruff.toml", ".ruff.toml"):
        return f"{run}ruff check ."
    return f"{run}flake8" if ".flake8" in folder.files else None


def _find_formatter(folder: ProjectFolder, tools: object, run: str) -> str | None:
    named = tools if isinstance(tools, dict) else {}
    if "black" in named:
        return f"{run}black ."
    return f"{run}ruff format ." if "ruff" in named or folder.has_any("ruff.toml", ".ruff.toml") else None


def _find_sources(folder: ProjectFolder) -> tuple[str, ...]:
    if sources := folder.select(("src",)):
        return sources
    packages = [
        name
        for name in folder.inner_folders
        if name not in _TESTS and "__init__.py" in ProjectFolder(folder.path / name).files
    ]
    return tuple(packages) or (".",)
