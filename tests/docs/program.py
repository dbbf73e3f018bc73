"""Program that has loaded Tactician, and forks a process for each block of code in the documentation."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

from tests.support.forking import load_tactician
from tests.support.forking import serve as serve_forks

LOADED_TOO = ("pydantic_ai", "temporalio.client", "fastapi")


def serve() -> None:
    """Run the files that are asked for."""
    load_tactician()
    for name in LOADED_TOO:
        import_module(name)
    serve_forks(_run_files)


def _run_files(arguments: list[str]) -> None:
    """Run files as programs, one after the other: a later one finds what an earlier one left."""
    sys.path.insert(0, "")  # as for a program in the working directory
    for file in arguments:
        _run(Path(file))
        sys.stdout.flush()


def _run(file: Path) -> None:
    """Run a file as a program. As in a cell of a notebook, there may be an `await` at the top level."""
    program = ModuleType("__main__")
    program.__file__ = str(file)
    sys.modules["__main__"] = program
    code = compile(file.read_text("utf-8"), file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = FunctionType(code, vars(program))()
    if inspect.iscoroutine(done):
        asyncio.run(done)
