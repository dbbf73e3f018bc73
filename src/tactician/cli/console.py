"""Streams of the command line, and options of several commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typing_extensions import override

from tactician.cli.stores import STORE_VARIABLE
from tactician.text import escape_controls, escape_json_controls


class SafeConsole(Console):
    """Console that escapes control codes in texts: only `rich` itself writes them."""

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield what is printed; only `rich` itself writes control codes."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.is_control else escape_controls(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


out = SafeConsole(emoji=False)
err = SafeConsole(stderr=True, emoji=False)


def escape_unencodable(stream: TextIO | None) -> None:
    """Let a stream write escapes for what its encoding cannot have, as standard error does."""
    if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def discard_unwritable(stream: TextIO | None) -> None:
    """Discard what a stream cannot write, as on a full disk: else the end of the program reports that once more."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def is_terminal_input() -> bool:
    """Return whether standard input is there, and is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def print_json(text: str) -> None:
    """Print JSON to stdout, with escapes for what could command a terminal."""
    print(escape_json_controls(text))


def say(text: str) -> None:
    """Print a text to stderr on a single line."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


File = Annotated[Path, typer.Argument(help="A Python file with agents in it, or a blueprint in JSON or YAML.")]
AgentNames = Annotated[
    list[str] | None, typer.Option("--agent", "-a", help="Publish this agent; may be given several times.")
]
AgentName = Annotated[str | None, typer.Option("--agent", "-a", help="Which agent, when the file has several.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
NoInput = Annotated[bool, typer.Option("--no-input", help="Ask nothing in the terminal.")]
ModelName = Annotated[str | None, typer.Option("--model", "-m", help="The default model of this run.")]
Prompts = Annotated[bool, typer.Option("-p", "--prompts", help="Show what models are sent.")]
Responses = Annotated[bool, typer.Option("-r", "--responses", help="Show what models answer.")]
Scripted = Annotated[bool, typer.Option("--scripted", help="Play the script of the file instead of asking a model.")]
ProcessId = Annotated[str, typer.Argument(metavar="ID", help="The id of a run: see `tactician ps`.")]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", envvar=STORE_VARIABLE, help="Where runs are kept: a SQLite file, or a database URL."),
]
PersonalityName = Annotated[
    str | None, typer.Option("--personality", envvar="TACTICIAN_PERSONALITY", help="Voice of the progress messages.")
]
