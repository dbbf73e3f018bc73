"""The programs of the documentation pass `mypy --strict` and pyright, but for what is allowed here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.docs.pages import ROOT, Block, list_blocks
from tests.docs.test_blocks import FOREIGN
from tests.support.effort import EFFORT

MYPY_ALLOWED: Final = {
    ("docs/start/tutorial.md", "no-untyped-def"): "pytest names the fixtures, and people leave out their types",
    ("docs/how-to/people.md", "arg-type"): "a JSON schema is data, whose fields have no types",
    ("docs/how-to/people.md", "index"): "a JSON schema is data, whose fields have no types",
    ("docs/reference/processes.md", "index"): "a JSON schema is data, whose fields have no types",
    ("docs/how-to/reviews.md", "union-attr"): "`respond` returns a process or a result, as the run is one",
    ("docs/reference/stores.md", "union-attr"): "`respond` and `fork` return a process or a result, as the run is one",
}
"""Kinds of errors that a page may have, with the reason."""
PYRIGHT_ALLOWED: Final = {
    ("docs/how-to/notebooks.md", ""): "pyright has no setting for an `await` at the top level",
    ("docs/how-to/people.md", "reportArgumentType"): "a JSON schema is data, whose fields have no types",
    ("docs/how-to/people.md", "reportOptionalSubscript"): "a JSON schema is data, whose fields have no types",
    ("docs/reference/processes.md", "reportIndexIssue"): "a JSON schema is data, whose fields have no types",
    ("docs/reference/stores.md", "reportAttributeAccessIssue"): "`respond` and `fork` return a process or a result",
}

TYPED: Final = tuple(
    ROOT / "tests" / name for name in ("agents/test_typed.py", "agents/test_group_types.py", "ensemble/test_types.py")
)
"""Tests that assert what type checkers infer."""
_IN_A_CELL: Final = '# mypy: disable-error-code="top-level-await"\n'
"""First line of each file: as in a cell of a notebook, there may be an `await` at the top level."""
_ERROR: Final = re.compile(r"^(.*?)\.py:(\d+): error: (.*)  \[([\w-]+)\]$", re.MULTILINE)
_FILE: Final = re.compile(r"# (\w+\.py)\n")


class TypeProblem(NamedTuple):
    """Error that a type checker reports about a line of a file."""

    file: Path
    line: int
    message: str
    code: str


def name_module(block: Block) -> str:
    return re.sub(r"\W", "_", str(block))


def write_programs(folder: Path) -> dict[str, Block]:
    """Write each program to a file of its own, and return the programs by the names of these modules.

    A program that says the name of its file is there under that name too, the last one of them: others import it.
    """
    programs = {name_module(block): block for block in list_blocks("python") if not block.text.startswith(FOREIGN)}
    for module, block in programs.items():
        (folder / f"{module}.py").write_text(_IN_A_CELL + block.text, encoding="utf-8")
        if named := _FILE.match(block.text):
            (folder / named[1]).write_text(block.text, encoding="utf-8")
    return programs


def run_checker(words: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def run_mypy(folder: Path, modules: Iterable[str]) -> list[TypeProblem]:
    """Check the modules by the project's own settings, with the results for the package that `make lint` has left."""
    files = [str(folder / f"{module}.py") for module in modules]
    output = run_checker(["mypy", "--no-error-summary", *files], {"MYPYPATH": str(folder)})
    return [TypeProblem(Path(file), int(line), text, code) for file, line, text, code in _ERROR.findall(output)]


def run_pyright(folder: Path, files: Iterable[Path], mode: str = "standard") -> list[TypeProblem]:
    """Check files and folders with a mode of pyright, which keeps its settings in a folder."""
    settings = {
        "include": [os.path.relpath(file, folder) for file in files],  # pyright ignores paths that are not relative
        "extraPaths": [str(ROOT / "src"), str(ROOT), str(folder)],
        "typeCheckingMode": mode,
    }
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(settings), encoding="utf-8")
    words = ["pyright", "--project", str(project), "--pythonpath", sys.executable, "--outputjson"]
    report = json.loads(run_checker(words, {"HOME": str(folder), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}))
    assert report["summary"]["filesAnalyzed"] >= len(settings["include"])
    return [
        TypeProblem(
            Path(entry["file"]).with_suffix(""),
            entry["range"]["start"]["line"] + 1,
            entry["message"],
            entry.get("rule", ""),
        )
        for entry in report["generalDiagnostics"]
        if entry["severity"] == "error"
    ]


def assert_allowed(
    problems: list[TypeProblem], programs: Mapping[str, Block], allowed: Mapping[tuple[str, str], str]
) -> None:
    """Check that there are only problems of the allowed kinds, and that each of these kinds still exists."""
    refused: list[str] = []
    used: set[tuple[str, str]] = set()
    for file, line, message, code in problems:
        block = programs.get(file.name)
        kind = (block.page if block else file.name, code)
        used.add(kind)
        if kind not in allowed:
            refused.append(f"{block or file.name}:{line - 1}: {message} [{code}]")
    assert refused == []
    assert allowed.keys() - used == set(), "allowed, and no longer there"


def test_the_programs_have_the_types_that_they_claim(tmp_path: Path) -> None:
    programs = write_programs(tmp_path)
    assert_allowed(run_mypy(tmp_path, programs), programs, MYPY_ALLOWED)


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="takes half a minute; `make soak` runs pyright")
def test_pyright_knows_the_types_of_the_programs(tmp_path: Path) -> None:
    programs = write_programs(tmp_path)
    assert len(programs) > 100
    assert_allowed(run_pyright(tmp_path, (tmp_path, ROOT / "examples")), programs, PYRIGHT_ALLOWED)


def test_pyright_knows_the_types_of_agents_ensembles_and_groups(tmp_path: Path) -> None:
    """Mypy checks these tests with the others; what they assert of types is for pyright's strict mode too."""
    assert run_pyright(tmp_path, TYPED, "strict") == []
