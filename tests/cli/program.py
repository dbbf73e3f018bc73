"""Program that has loaded the command line, and forks a process for each command.

A command takes a tenth of the time then, as nearly all of it is loading. All else is as in a program of its own.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys

import genai_prices

from tactician.cli import main
from tactician.stores import SqliteStore

LONGEST = 120
"""Seconds after which a command is killed."""
LOADED = (SqliteStore, genai_prices)
"""Classes and modules that most commands load when they need them: loaded once, for all."""


def serve() -> None:
    """Carry out the commands on stdin, a JSON object on each line, and answer each with its exit code."""
    gc.freeze()  # a command that ends need not look through all that was loaded before
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _be_command(**json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _be_command(arguments: list[str], environment: dict[str, str], folder: str, out: str, err: str) -> None:
    """Become the command line with some arguments, without a terminal.

    Args:
        arguments: arguments of the command.
        environment: environment variables that it has, and no others.
        folder: working directory.
        out: file for what it writes to stdout.
        err: file for what it writes to stderr.
    """
    signal.alarm(LONGEST)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        descriptor = os.open(path, flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv[1:] = arguments
    main()
