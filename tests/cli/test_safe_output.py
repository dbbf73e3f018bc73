"""What models, files and arguments say commands nothing on the terminal, and is never a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.support import tactician

EVIL = r"\x1b[31m\u202e\ud83d\x9b31m\x07\u2066"
SOURCE = f'''
from tactician import Agent, UserInput, achieves_goal, action, planned_agent
from tactician.process import OperationContext
from tactician.testing import ScriptedModel, ToolCall

def look(what: str) -> str:
    """Look {EVIL}."""
    return "found {EVIL}"

def script() -> ScriptedModel:
    return ScriptedModel(ToolCall("look", what="{EVIL.replace(chr(92) + "ud83d", "")}"), "answer {EVIL}")

agent = Agent("Echo", description="says {EVIL}", tools=[look])

@planned_agent(description="fails with {EVIL}")
class Failing:
    @achieves_goal("goal {EVIL}")
    @action(description="does {EVIL}")
    def fail(self, user_input: UserInput) -> str:
        raise ValueError("no {EVIL}")
'''
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HALF = "half \udced\udca0 here"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "evil.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "FILE", "hi", "--agent", "Echo", "--scripted", "-p", "-r"), 0),
        (("run", "FILE", "hi", "--agent", "Failing"), 1),
        (("run", "FILE", "hi", "--agent", "Failing", "--debug"), 1),
        (("run", "FILE", HALF, "--agent", "Echo", "--scripted"), 0),
        (("run", "FILE", HALF, "--agent", "Echo", "--scripted", "--store", "runs.db"), 2),
        (("run", "FILE", "hi", "--agent", HALF), 2),
        (("run", HALF, "hi"), 2),
        (("agents", "FILE"), 0),
        (("plan", "FILE", "--agent", "Failing"), 0),
        (("plan", "FILE", "--agent", "Failing", "--mermaid"), 0),
        (("show", HALF, "--store", "runs.db"), 2),
        (("blueprint", "check", f"{HALF}.yaml"), 1),
    ],
)
def test_nothing_unsafe_is_printed(arguments: tuple[str, ...], code: int, file: str, tmp_path: Path) -> None:
    done = tactician(*(file if one == "FILE" else one for one in arguments), cwd=tmp_path)

    assert UNSAFE.search(done.out + done.err) is None
    assert done.code == code, done.err
    if "--debug" not in arguments:
        assert "Traceback" not in done.err


def test_the_json_of_runs_has_escapes(file: str, tmp_path: Path) -> None:
    tactician("run", file, "x \x9b \u202e", "--agent", "Failing", "--store", "runs.db", cwd=tmp_path)

    done = tactician("ps", "--json", "--store", "runs.db", cwd=tmp_path)

    assert done.code == 0
    assert UNSAFE.search(done.out) is None


def test_tables_cut_nothing_that_an_escape_makes_longer(file: str, tmp_path: Path) -> None:
    tactician("run", file, "x", "--agent", "Failing", "--store", "runs.db", cwd=tmp_path)
    (run,) = json.loads(tactician("ps", "--all", "--json", "--store", "runs.db", cwd=tmp_path).out)

    shown = tactician("show", run["id"], "--store", "runs.db", cwd=tmp_path).out

    assert re.search(r"│ ValueError: no \\x1b\[31m\S*\\u2066 +│", shown)
