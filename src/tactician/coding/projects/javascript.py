"""Projects of npm, pnpm, Yarn and Bun."""

from __future__ import annotations

from typing import Final

from tactician.coding.projects.folder import ProjectFolder, find_table
from tactician.coding.projects.project import ProjectPart

_LOCKS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_SOURCES: Final = ("src", "lib", "app", "packages")
_TESTS: Final = ("test", "tests", "__tests__", "src/__tests__", "spec", "e2e")
_PLACEHOLDER: Final = "no test specified"
"""What `npm init` writes in the place of tests."""


def detect_javascript(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that a package manager of JavaScript builds."""
    if "package.json" not in folder.files:
        return None
    package = folder.read_json("package.json")
    manager = _find_manager(folder, package.get("packageManager"))
    scripts = find_table(package, "scripts")

    def find_command(*names: str) -> str | None:
        name = next((name for name in names if isinstance(text := scripts.get(name), str) and text), None)
        if name is None or _PLACEHOLDER in str(scripts[name]):
            return None
        return f"{manager} test" if name == "test" and manager != "bun" else f"{manager} run {name}"

    is_typed = "tsconfig.json" in folder.files or "typescript" in find_table(package, "devDependencies")
    return ProjectPart(
        language="TypeScript" if is_typed else "JavaScript",
        build_system=manager,
        build_command=find_command("build", "compile"),
        test_command=find_command("test"),
        lint_command=find_command("lint", "check"),
        format_command=find_command("format", "fmt", "prettier"),
        source_folders=folder.select(_SOURCES) or (".",),
        test_folders=folder.select(_TESTS),
        marker="package.json",
    )


def has_workspaces(folder: ProjectFolder) -> bool:
    """Return whether the packages in the folders below belong to this package."""
    return "pnpm-workspace.yaml" in folder.files or "workspaces" in folder.read_json("package.json")


def _find_manager(folder: ProjectFolder, declared: object) -> str:
    named = str(declared or "").partition("@")[0]
    if named in _LOCKS.values():
        return named
    return next((manager for lock, manager in _LOCKS.items() if lock in folder.files), "npm")
