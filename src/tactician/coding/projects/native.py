"""Projects of Go, Cargo, CMake and Make."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from tactician.coding.projects.folder import ProjectFolder
from tactician.coding.projects.project import ProjectPart

_MAKEFILES: Final = ("GNUmakefile", "Makefile", "makefile")
_LANGUAGES: Final = {".c": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".go": "Go", ".rs": "Rust", ".py": "Python"}
_TARGET: Final = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.MULTILINE)
_SOURCES: Final = ("src", "lib", "include", "source")
_TESTS: Final = ("test", "tests", "t")


def detect_go(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that is a Go module. Its tests stand beside the sources."""
    if not folder.has_any("go.mod", "go.work"):
        return None
    has_linter = folder.has_any(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    return ProjectPart(
        language="Go",
        build_system="Go",
        build_command="go build ./...",
        test_command="go test ./...",
        lint_command="golangci-lint run" if has_linter else "go vet ./...",
        format_command="gofmt -w .",
        source_folders=folder.select(("cmd", "internal", "pkg")) or (".",),
        test_folders=(".",),
        marker="go.mod" if "go.mod" in folder.files else "go.work",
    )


def detect_cargo(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that Cargo builds."""
    if "Cargo.toml" not in folder.files:
        return None
    return ProjectPart(
        language="Rust",
        build_system="Cargo",
        build_command="cargo build",
        test_command="cargo test",
        lint_command="cargo clippy",
        format_command="cargo fmt",
        source_folders=folder.select(("src", "crates")) or ("src",),
        test_folders=folder.select(("tests",)),
        marker="Cargo.toml",
    )


def detect_cmake(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that CMake builds."""
    if "CMakeLists.txt" not in folder.files:
        return None
    build = "cmake -S . -B build && cmake --build build"
    return ProjectPart(
        language=_count_language(folder, "C++"),
        build_system="CMake",
        build_command=build,
        test_command=f"{build} && ctest --test-dir build --output-on-failure",
        format_command="clang-format -i" if ".clang-format" in folder.files else None,
        source_folders=folder.select(_SOURCES) or (".",),
        test_folders=folder.select(_TESTS),
        marker="CMakeLists.txt",
    )


def detect_make(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that only a Makefile builds."""
    if (marker := next((name for name in _MAKEFILES if name in folder.files), None)) is None:
        return None
    targets = set(_TARGET.findall(folder.read(marker)))

    def find_target(*names: str) -> str | None:
        return next((f"make {name}" for name in names if name in targets), None)

    return ProjectPart(
        language=_count_language(folder, "C"),
        build_system="Make",
        build_command=find_target("build", "all") or "make",
        test_command=find_target("test", "check", "tests"),
        lint_command=find_target("lint"),
        format_command=find_target("format", "fmt"),
        source_folders=folder.select(_SOURCES) or (".",),
        test_folders=folder.select(_TESTS),
        marker=marker,
    )


def _count_language(folder: ProjectFolder, default: str) -> str:
    """Return the language of most files here and in the folders of sources."""
    places = (folder, *(ProjectFolder(folder.path / name) for name in folder.select(_SOURCES)))
    endings = (name[name.rfind(".") :] for place in places for name in place.files if "." in name)
    counts = Counter(_LANGUAGES[ending] for ending in endings if ending in _LANGUAGES)
    return counts.most_common(1)[0][0] if counts else default
