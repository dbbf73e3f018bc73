"""The fixtures of the pytest plugin, in a test run of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tactician import Agent, Platform
from tactician.testing import ScriptedModel

SUITE = """
from tactician import Agent

async def run(platform):
    return (await Agent("Echo").run("hi", context=platform.context())).output

def test_passes(scripted_model, scripted_platform):
    import asyncio
    scripted_model.script("hello")
    assert asyncio.run(run(scripted_platform)) == "hello"

def test_leaves_steps(scripted_model):
    scripted_model.script("never said")

def test_has_too_few_steps(scripted_model, scripted_platform):
    import asyncio
    asyncio.run(run(scripted_platform))
"""


async def test_the_platform_of_the_fixture_uses_its_model(
    scripted_model: ScriptedModel, scripted_platform: Platform
) -> None:
    scripted_model.script("hello")
    result = await Agent("Echo").run("hi", context=scripted_platform.context())
    assert result.output == "hello"


async def test_each_test_has_a_model_of_its_own(scripted_model: ScriptedModel) -> None:
    assert scripted_model.calls == []


def test_the_plugin_is_found_and_fails_tests_whose_script_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    assert "ERROR test_suite.py::test_leaves_steps" in ended.stdout
    assert "the script has 1 unused step; the next is 'never said'" in ended.stdout
    assert "FAILED test_suite.py::test_has_too_few_steps" in ended.stdout
    assert "call 1 has no step: the script has 0. The prompt:" in ended.stdout
