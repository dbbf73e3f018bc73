"""Errors of imports that fail: a missing extra, and a program with the name of a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tactician import evals
from tactician.errors import MissingExtraError


def test_a_program_with_the_name_of_a_package_is_told_to_rename_its_file(tmp_path: Path) -> None:
    program = tmp_path / "mcp.py"
    program.write_text("from tactician.serve import McpPublisher\n")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)
    assert f"{program} has the name of the package 'mcp': rename your file." in ran.stderr


def test_evaluations_without_their_extra_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [name for name in sys.modules if name.startswith("tactician.evals.")]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(evals), "evaluate", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_evals", None)
    with pytest.raises(MissingExtraError, match=r'An evaluation needs pydantic_evals.*pip install "\.\[evals\]"'):
        _ = evals.evaluate
