"""`tactician eval`, and cases as tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tactician.evals import EvalReport
from tests.cli.support import tactician

AGENTS = """
from tactician import runnable

@runnable
async def adder(text: str) -> str:
    "Adds."
    return ANSWERS.get(text, "?")

ANSWERS = {str(number): str(number) for number in range(12)}
"""
DATASET = "name: numbers\nevaluators: [EqualsExpected]\ncases:\n" + "".join(
    f"  - {{name: n{number}, inputs: '{number}', expected_output: '{number}'}}\n" for number in range(12)
)


def test_a_data_set_is_run_compared_and_shown(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "worse.py").write_text(AGENTS.replace("range(12)", "range(2)"))
    (tmp_path / "set.yaml").write_text(DATASET)
    run = ("eval", "run", "set.yaml", "--agents")
    done = tactician(*run, "agents.py", "-o", "before.json", "--html", "before.html", cwd=tmp_path)
    assert (done.code, "12/12" in done.err) == (0, True), done.err
    assert "100.0% " in done.out
    page = (tmp_path / "before.html").read_text()
    assert "<script" not in page
    assert "n11" in page

    done = tactician(*run, "worse.py", "--baseline", "before.json", "-o", "after.json", cwd=tmp_path)
    assert done.code == 1
    assert "Worse: EqualsExpected fell from 1 to 0.167, beyond the noise." in done.out
    assert tactician("eval", "compare", "after.json", "before.json", cwd=tmp_path).code == 0
    assert tactician("eval", "compare", "before.json", "after.json", cwd=tmp_path).code == 1
    assert "n11" in tactician("eval", "show", "after.json", cwd=tmp_path).out
    done = tactician(*run, "agents.py", "--baseline", "before.json", "-o", "before.json", cwd=tmp_path)
    assert "never overwritten" in done.err
    assert EvalReport.from_json(tmp_path / "before.json").is_complete


SUITE = """
import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected
from tactician import runnable

@runnable
async def echo(text: str) -> str:
    return text

CASES = [Case(name="good", inputs="a", expected_output="a"), Case(name="bad", inputs="a", expected_output="b")]

@pytest.mark.eval_cases(Dataset(name="letters", cases=CASES, evaluators=[EqualsExpected()]))
def test_letters(eval_case):
    eval_case.check_sync(echo)

@pytest.mark.eval_cases("set.yaml")
async def test_numbers(eval_case):
    await eval_case.check(echo)
"""


def test_each_case_is_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "set.yaml").write_text(DATASET)
    settings = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *settings]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "1 failed, 13 passed" in ended.stdout
    assert "FAILED test_suite.py::test_letters[bad]" in ended.stdout
    assert "bad: EqualsExpected does not hold" in ended.stdout
