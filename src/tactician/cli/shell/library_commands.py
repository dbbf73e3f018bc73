"""Command of the shell that reads documents into a library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from tactician.cli.rag_command import ingest_places, print_report
from tactician.cli.shell_commands import ShellOption
from tactician.errors import TacticianError
from tactician.grammar import format_count


async def ingest(
    places: Annotated[list[str | Path], ShellOption(help="Files, folders and web pages.")],
    library: Annotated[str, ShellOption("-l", "An SQLite file, or a PostgreSQL URL.")] = "library.db",
    embedder: Annotated[str | None, ShellOption("-e", "An embedding model, or wordllama (offline).")] = None,
    refresh: Annotated[
        Literal["changed", "never", "always"], ShellOption("-r", "Which documents to read again.")
    ] = "changed",
    allow_private: Annotated[bool, ShellOption(help="Fetch pages of private networks too.")] = False,
) -> None:
    """Read documents that are new or have changed into a library, which agents search.

    Raises:
        TacticianError: when some could not be read.
    """
    from tactician.rag import RefreshPolicy

    report = await ingest_places(
        map(str, places), library, embedder, policy=RefreshPolicy(refresh), allow_private=allow_private
    )
    print_report(report)
    if report.failures:
        raise TacticianError(f"{format_count(len(report.failures), 'document')} could not be read.")
