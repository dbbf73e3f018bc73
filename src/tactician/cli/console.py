"""Streams of the command line, and options of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tactician.cli.stores import STORE_VARIABLE

out = Console(emoji=False)
err = Console(stderr=True, emoji=False)


def say(text: str) -> None:
    """Print a text to stderr unchanged, on one line."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


File = Annotated[Path, typer.Argument(help="A Python file with agents in it, or a blueprint in JSON or YAML.")]
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
