"""Detection of build systems, with the commands and folders that follow."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tactician.coding import ProjectPart, detect_project
from tactician.errors import ConfigurationError
from tests.cli.support import tactician


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def summarize(part: ProjectPart) -> tuple[str, str | None, str | None, tuple[str, ...], tuple[str, ...]]:
    return (part.label, part.build_command, part.test_command, part.source_folders, part.test_folders)


CASES = {
    "gradle": (
        {"build.gradle.kts": "", "gradlew": "", "src/main/java/A.java": "", "src/test/java/T.java": ""},
        ("Java with Gradle", "./gradlew build", "./gradlew test", ("src/main/java",), ("src/test/java",)),
    ),
    "kotlin, several modules": (
        {
            "settings.gradle": "",
            "app/build.gradle": "",
            "app/src/main/kotlin/A.kt": "",
            "core/src/main/java/B.java": "",
        },
        (
            "Kotlin with Gradle",
            "gradle build",
            "gradle test",
            ("app/src/main/kotlin", "core/src/main/java"),
            ("src/test/java",),
        ),
    ),
    "maven": (
        {"pom.xml": "<project/>"},
        ("Java with Maven", "mvn compile", "mvn test", ("src/main/java",), ("src/test/java",)),
    ),
    "npm": (
        {"package.json": '{"scripts": {"build": "tsc", "test": "jest"}}', "tsconfig.json": "", "src/a.ts": ""},
        ("TypeScript with npm", "npm run build", "npm test", ("src",), ()),
    ),
    "pnpm": ({"package.json": "{}", "pnpm-lock.yaml": ""}, ("JavaScript with pnpm", None, None, (".",), ())),
    "yarn": (
        {"package.json": '{"packageManager": "yarn@4.1", "scripts": {"test": "vitest"}}', "test/a.js": ""},
        ("JavaScript with yarn", None, "yarn test", (".",), ("test",)),
    ),
    "bun": (
        {"package.json": '{"scripts": {"test": "bun test"}}', "bun.lock": ""},
        ("JavaScript with bun", None, "bun run test", (".",), ()),
    ),
    "no tests": (
        {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})},
        ("JavaScript with npm", None, None, (".",), ()),
    ),
    "pip": (
        {"pyproject.toml": "", "shop/__init__.py": "", "tests/test_a.py": ""},
        ("Python with pip", "python -m build", "python -m pytest", ("shop",), ("tests",)),
    ),
    "requirements": ({"requirements.txt": ""}, ("Python with pip", None, "python -m pytest", (".",), ())),
    "uv": (
        {"pyproject.toml": "", "uv.lock": "", "src/a.py": ""},
        ("Python with uv", "uv build", "uv run pytest", ("src",), ()),
    ),
    "poetry": (
        {"pyproject.toml": "[tool.poetry]\nname = 'a'"},
        ("Python with Poetry", "poetry build", "poetry run pytest", (".",), ()),
    ),
    "go": ({"go.mod": "module a"}, ("Go with Go", "go build ./...", "go test ./...", (".",), (".",))),
    "cargo": (
        {"Cargo.toml": "", "src/lib.rs": "", "tests/a.rs": ""},
        ("Rust with Cargo", "cargo build", "cargo test", ("src",), ("tests",)),
    ),
    "cmake": (
        {"CMakeLists.txt": "", "Makefile": "test:\n", "src/a.c": "", "src/b.c": "", "src/c.cpp": ""},
        (
            "C with CMake",
            "cmake -S . -B build && cmake --build build",
            "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
            ("src",),
            (),
        ),
    ),
    "make": (
        {"Makefile": "CFLAGS := -O2\nall: a\ncheck: all\n\t./t\n", "a.c": "", "tests/t.c": ""},
        ("C with Make", "make all", "make check", (".",), ("tests",)),
    ),
    "dotnet": (
        {"Shop.sln": "", "Shop/Shop.csproj": "", "Shop.Tests/Shop.Tests.csproj": ""},
        ("C# with .NET", "dotnet build", "dotnet test", (".",), ("Shop.Tests",)),
    ),
    "ruby": (
        {"Gemfile": "", "lib/a.rb": "", "spec/a_spec.rb": ""},
        ("Ruby with Bundler", None, "bundle exec rspec", ("lib",), ("spec",)),
    ),
    "php": (
        {"composer.json": "{}", "src/A.php": "", "tests/ATest.php": ""},
        ("PHP with Composer", None, "vendor/bin/phpunit", ("src",), ("tests",)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_build_system_gives_commands_and_folders(name: str, tmp_path: Path) -> None:
    files, expected = CASES[name]
    (part,) = detect_project(write(tmp_path, files)).parts
    assert summarize(part) == expected


def test_linters_and_formatters_are_those_that_the_project_configures(tmp_path: Path) -> None:
    write(tmp_path / "a", {"pyproject.toml": "[tool.ruff]\n[tool.black]"})
    write(tmp_path / "b", {"package.json": '{"scripts": {"lint": "eslint", "format": "prettier"}}'})
    parts = detect_project(tmp_path).parts
    commands = [(part.lint_command, part.format_command) for part in parts]
    assert commands == [("python -m ruff check .", "python -m black ."), ("npm run lint", "npm run format")]


def test_a_repository_can_have_several_projects(tmp_path: Path) -> None:
    files = {
        "server/pyproject.toml": "",
        "web/package.json": '{"workspaces": ["packages/*"]}',
        "web/packages/ui/package.json": "{}",
        "tools/gen/go.mod": "",
        "node_modules/left-pad/package.json": "{}",
        "server/tests/fixtures/package.json": "{}",
        "Makefile": "test:\n\tpytest",
    }
    parts = detect_project(write(tmp_path, files)).parts
    assert [(part.root, part.build_system) for part in parts] == [
        (".", "Make"),
        ("server", "pip"),
        ("web", "npm"),
        ("tools/gen", "Go"),
    ]


def test_modules_of_a_build_belong_to_it(tmp_path: Path) -> None:
    files = {"pom.xml": "", "core/pom.xml": "", "rust/Cargo.toml": "[workspace]", "rust/a/Cargo.toml": ""}
    parts = detect_project(write(tmp_path, files)).parts
    assert [(part.root, part.build_system) for part in parts] == [(".", "Maven"), ("rust", "Cargo")]


def test_explicit_settings_count_more(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "web/package.json": "{}"})
    project = detect_project(tmp_path, test_command="make check", lint_command=None)
    assert [part.root for part in project.parts] == [".", "web"]
    assert (project.parts[0].test_command, project.parts[0].build_command) == ("make check", "python -m build")
    assert "test: make check" in project.describe()
    (part,) = detect_project(write(tmp_path / "empty", {"a.txt": ""}), language="COBOL", build_system="JCL").parts
    assert part.label == "COBOL with JCL"


def test_hostile_files_harm_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"package.json": "[" * 100_000, "pyproject.toml": "a = " + "[" * 5_000, "Cargo.toml": "\0"})
    (tmp_path / "go.mod").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [part.build_system for part in detect_project(tmp_path).parts] == ["pip", "npm", "Cargo"]
    with pytest.raises(ConfigurationError, match="is not a folder"):
        detect_project(tmp_path / "missing")


def test_the_command_shows_the_parts(tmp_path: Path) -> None:
    write(tmp_path, {"go.mod": "", "web/package.json": '{"scripts": {"test": "jest"}}'})
    shown = tactician("code", "detect", str(tmp_path), env={"COLUMNS": "150"})
    assert shown.code == 0
    assert "go test ./..." in shown.out
    assert "npm test" in shown.out
    data = json.loads(tactician("code", "detect", str(tmp_path), "--json").out)
    assert [part["build_system"] for part in data] == ["Go", "npm"]
    empty = tactician("code", "detect", str(tmp_path / "web"), env={"COLUMNS": "150"})
    assert empty.code == 0
    (tmp_path / "none").mkdir()
    missing = tactician("code", "detect", str(tmp_path / "none"))
    assert (missing.code, "no build file" in missing.err) == (1, True)
