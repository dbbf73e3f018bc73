"""The programs of the documentation pass `mypy --strict`, but for what is allowed here."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT, Block, list_blocks
from tests.docs.test_blocks import FOREIGN
from tests.support.effort import EFFORT

ALLOWED: Final = {
    ("docs/start/tutorial.md", "no-untyped-def"): "pytest names the fixtures, and people leave out their types",
    ("docs/how-to/people.md", "arg-type"): "a JSON schema is data, whose fields have no types",
    ("docs/how-to/people.md", "index"): "a JSON schema is data, whose fields have no types",
    ("docs/reference/processes.md", "index"): "a JSON schema is data, whose fields have no types",
    ("docs/reference/stores.md", "union-attr"): "`respond` and `fork` return a process or a result, as the run is one",
}
"""Kinds of errors that a page may have, with the reason."""

_IN_A_CELL: Final = '# mypy: disable-error-code="top-level-await"\n'
"""First line of each file: as in a cell of a notebook, there may be an `await` at the top level."""
_ERROR: Final = re.compile(r"^(.*?)\.py:(\d+): error: (.*)  \[([\w-]+)\]$", re.MULTILINE)
_FILE: Final = re.compile(r"# (\w+\.py)\n")


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


def run_mypy(folder: Path, modules: list[str]) -> str:
    """Check the modules by the project's own settings, with the results for the package that `make lint` has left."""
    files = [str(folder / f"{module}.py") for module in modules]
    words = [sys.executable, "-m", "mypy", "--no-error-summary", *files]
    done = subprocess.run(
        words, cwd=ROOT, env={"MYPYPATH": str(folder)}, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.soak
@pytest.mark.skipif(
    EFFORT == 1,
    reason="takes longer than all other tests of the documentation; `make soak` checks the types of the documentation",
)
def test_the_programs_have_the_types_that_they_claim(tmp_path: Path) -> None:
    programs = write_programs(tmp_path)
    found = _ERROR.findall(run_mypy(tmp_path, list(programs)))

    errors = [(programs[Path(file).name], int(line) - 1, message, code) for file, line, message, code in found]
    refused = [
        f"{block}:{line}: {text} [{code}]" for block, line, text, code in errors if (block.page, code) not in ALLOWED
    ]

    assert refused == []
    assert ALLOWED.keys() - {(block.page, code) for block, _, _, code in errors} == set(), (
        "allowed, and no longer there"
    )
