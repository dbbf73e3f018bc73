"""The tutorial, followed literally in an empty folder: each file is saved, each command is run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.support.forking import bare_environment

TUTORIAL = DOCS / "start" / "tutorial.md"
_STEP = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_WAITING = re.compile(r"\b[0-9a-f]{16}\b")


def read_steps() -> list[tuple[str, str]]:
    """Return the blocks in order: `python` to save, `console` to run."""
    return _STEP.findall(TUTORIAL.read_text("utf-8"))


def read_commands(console: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console, each with the lines that it prints; three dots stand for any lines."""
    parts = re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]
    return [(lines[0], [line for line in lines[1:] if line != "..."]) for lines in map(str.splitlines, parts)]


def run_command(command: str, folder: Path) -> str:
    """Run a command of the tutorial with the programs beside this interpreter, and return all that it prints."""
    words = shlex.split(command)
    programs = Path(sys.executable).parent
    environment = bare_environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 3), done.stderr  # 3: it waits for somebody
    return done.stdout + done.stderr


@pytest.mark.embedded
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    run_id = ""
    for language, text in read_steps():
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        for command, promised in read_commands(text):
            printed = run_command(command.replace("ID", run_id), tmp_path)
            assert [line for line in promised if line.strip() not in printed] == []
            if "ps" in command.split():
                (run_id,) = _WAITING.findall(printed)
