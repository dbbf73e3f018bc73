"""Errors of imports that fail: a missing extra, and a program with the name of a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_program_with_the_name_of_a_package_is_told_to_rename_its_file(tmp_path: Path) -> None:
    program = tmp_path / "mcp.py"
    program.write_text("from tactician.serve import McpPublisher\n")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)
    assert f"{program} has the name of the package 'mcp': rename your file." in ran.stderr
