"""`tactician rag`: libraries of documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from tactician.cli.console import Debug, err, out
from tactician.cli.formatting import format_on_one_line, shorten
from tactician.errors import ConfigurationError
from tactician.grammar import format_count

if TYPE_CHECKING:
    from tactician.rag import Chunking, IngestionReport, Library, RefreshPolicy, SearchResults
    from tactician.rag.ingestion import ProgressListener

_OFFLINE: Final = "wordllama"
_EXCERPT: Final = 300
rag = typer.Typer(name="rag", help="Libraries of documents that agents look things up in.", no_args_is_help=True)
_Location = Annotated[
    str,
    typer.Option("--library", "-l", metavar="PLACE", help="An SQLite file, or a PostgreSQL URL."),
]
_EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        "-e",
        metavar="MODEL",
        help=f"An embedding model, or {_OFFLINE} (offline).",
    ),
]
_Filters = Annotated[
    list[str] | None, typer.Option("--where", "-w", metavar="NAME=VALUE", help="Metadata that documents need.")
]


@rag.callback()
def _group() -> None:
    """Libraries of documents that agents look things up in."""


@rag.command()
def ingest(
    locations: Annotated[list[str], typer.Argument(metavar="PLACE...", help="Files, folders and web pages.")],
    library: _Location = "library.db",
    embedder: _EmbedderName = None,
    metadata: Annotated[
        list[str] | None, typer.Option("--meta", "-m", metavar="NAME=VALUE", help="Metadata of the documents.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--refresh", metavar="WHEN", help="Which documents to read again: changed, never or always.")
    ] = "changed",
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch pages of this machine and of private networks too.")
    ] = False,
    max_chars: Annotated[
        int, typer.Option("--chunk", min=50, metavar="CHARACTERS", help="The longest text of a chunk.")
    ] = 1500,
    overlap: Annotated[
        int,
        typer.Option(
            "--overlap", min=0, metavar="CHARACTERS", help="How much each chunk repeats of the chunk before it."
        ),
    ] = 200,
    debug: Debug = False,
) -> None:
    """Read documents that are new or have changed, and remove those that are gone from folders.

    Exit code 1 when some could not be read.
    """
    from tactician.rag import Chunking, RefreshPolicy

    chunking = Chunking(max_chars, overlap)
    if policy not in list(RefreshPolicy):
        raise ConfigurationError(f"--refresh {policy}: choose one of {', '.join(RefreshPolicy)}")

    work = ingest_places(
        locations,
        library,
        embedder,
        policy=RefreshPolicy(policy),
        metadata=_parse_pairs(metadata),
        allow_private=allow_private,
        chunking=chunking,
    )
    report = asyncio.run(work)
    print_report(report)
    if report.failures:
        raise typer.Exit(1)


async def ingest_places(
    places: Iterable[str],
    library: str,
    embedder: str | None,
    *,
    policy: RefreshPolicy,
    metadata: Mapping[str, list[str]] = MappingProxyType({}),
    allow_private: bool = False,
    chunking: Chunking | None = None,
) -> IngestionReport:
    """Read documents into a library, with a bar in a terminal, and return what was read."""
    async with _open(library, embedder, chunking) as opened:
        with _show_progress() as listener:
            return await opened.ingest(
                *places, metadata=metadata, policy=policy, allow_private=allow_private, listener=listener
            )


@rag.command()
def search(
    query: Annotated[str, typer.Argument(help="A question, words with operators, or a regular expression.")],
    library: _Location = "library.db",
    embedder: _EmbedderName = None,
    text: Annotated[bool, typer.Option("--text", "-t", help='Words only: +must -not "a phrase" begin* typo~')] = False,
    regex: Annotated[bool, typer.Option("--regex", "-r", help="A regular expression.")] = False,
    top_k: Annotated[int, typer.Option("--top", "-k", min=1, max=1000, help="The number of hits.")] = 5,
    where: _Filters = None,
    vector_weight: Annotated[
        float | None,
        typer.Option("--vector-weight", min=0, max=1, metavar="SHARE", help="The weight of meaning beside words."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Search a library by words and, with an embedder, by meaning."""

    async def work() -> SearchResults:
        async with _open(library, embedder, must_exist=True) as opened:
            if vector_weight is not None:
                opened.vector_weight = vector_weight
            find = opened.regex if regex else opened.text if text else opened.search
            return await find(query, top_k=top_k, where=_parse_pairs(where))

    _print_results(asyncio.run(work()))


@rag.command()
def stats(library: _Location = "library.db", debug: Debug = False) -> None:
    """Print the size of a library."""

    async def work() -> list[tuple[str, int]]:
        async with _open(library, None, must_exist=True) as opened:
            measured = await opened.measure()
        sizes = ("documents", "sections", "chunks", "characters")
        return [*((name, getattr(measured, name)) for name in sizes), *(
            (f"vectors of {model}", count) for model, count in sorted(measured.vectors.items())
        )]  # fmt: skip

    for name, number in asyncio.run(work()):
        out.print(f"{format_on_one_line(name)}: {number:,}", markup=False, highlight=False)


def _open(
    location: str, embedder: str | None, chunking: Chunking | None = None, *, must_exist: bool = False
) -> Library:
    from tactician.rag import Chunking, Library, WordLlamaEmbedder

    if must_exist:
        _check_file(location)
    sizes = chunking or Chunking()
    if embedder is None:
        return Library(location, chunking=sizes)
    return Library(location, embedder=WordLlamaEmbedder() if embedder == _OFFLINE else embedder, chunking=sizes)


def _check_file(location: str) -> None:
    """Refuse to create an empty library where one is read."""
    from pathlib import Path

    from tactician.stores.address import store_path

    if (path := store_path(location)) is not None and not Path(path).exists():
        raise ConfigurationError(f"There is no library {path}. Create it: tactician rag ingest --library {path} PLACE")


def _parse_pairs(pairs: list[str] | None) -> dict[str, list[str]]:
    """Return the values by their names, of which one may come several times."""
    values: dict[str, list[str]] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign:
            raise ConfigurationError(f"{pair!r} has to look like NAME=VALUE")
        values.setdefault(name, []).append(value)
    return values


@contextmanager
def _show_progress() -> Iterator[ProgressListener]:
    """Draw a bar, if standard error is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda step: bar.update(
            task, completed=step.done, total=step.total, description=escape(shorten(step.uri.rpartition("/")[2], 40))
        )


def print_report(report: IngestionReport) -> None:
    """Print what was read, and what could not be read and why."""
    for failure in report.failures:
        err.print(format_on_one_line(str(failure)), style="red", markup=False, highlight=False, soft_wrap=True)
    read = f"{len(report.added)} new, {len(report.updated)} changed, {len(report.unchanged)} unchanged"
    others = f"{len(report.removed)} removed, {len(report.failures)} failed"
    out.print(f"{read}, {others}; {format_count(report.chunks, 'chunk')}", highlight=False)


def _print_results(results: SearchResults) -> None:
    for hit in results:
        place = " > ".join(dict.fromkeys(hit.chunk.path))
        line = format_on_one_line(f"{hit.score:.2f} {hit.id} {place} ({hit.uri})")
        out.print(line, style="bold", markup=False, highlight=False, soft_wrap=True)
        excerpt = format_on_one_line(shorten(hit.text, _EXCERPT))
        out.print(f"     {excerpt}", markup=False, highlight=False, soft_wrap=True)
    summary = f"{format_count(len(results), 'hit')} by {results.method} search"
    err.print(f"{summary}. {results.note}" if results.note else summary, style="dim", markup=False, highlight=False)
