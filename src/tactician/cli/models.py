"""`tactician models`: what can be used, what it costs, and whether it answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from time import perf_counter

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from tactician.errors import TacticianError
from tactician.llm import Features, LlmOptions, ModelCatalog, ModelEntry, ModelRequest, Usage, UserMessage, cost_of
from tactician.llm.catalog import MODEL_VARIABLE
from tactician.llm.embedded import INSTALL_HINT

_THOUSAND = 1000
_SECONDS = 60.0


def show_models(console: Console, catalog: ModelCatalog, *, check: bool) -> bool:
    """Prints the table; whether all models answered, where that was asked.

    Raises:
        ConfigurationError: when there is no model at all.
    """
    default, reason = catalog.default
    entries = catalog.entries()
    answers = asyncio.run(_check_all(catalog, entries)) if check else []
    table = Table(
        "", Column("model", no_wrap=True), "served by", "can", "$ / M tokens", *(["answers"] if check else [])
    )
    if default not in (entry.name for entry in entries):
        table.add_row("→", escape(default))
    for position, entry in enumerate(entries):
        mark = "→" if entry.name == default else ""
        table.add_row(mark, *_described(catalog, entry), *(answer.text for answer in answers[position : position + 1]))
    console.print(table)
    for entry, answer in zip(entries, answers, strict=False):
        if answer.error is not None:
            console.print(
                f"[red]{escape(entry.name)}[/red] does not answer: {escape(str(answer.error))}", highlight=False
            )
    _explain(console, default, reason, entries)
    return not any(answer.error for answer in answers)


def _described(catalog: ModelCatalog, entry: ModelEntry) -> tuple[str, ...]:
    named = escape(entry.name), escape(entry.provider)
    try:
        model = catalog.resolve(LlmOptions(model=entry.name))
    except TacticianError as error:
        return *named, f"[red]{escape(str(error))}[/red]", ""
    served = entry.name if ":" in entry.name or entry.name == "local" else f"{entry.provider}:{entry.name}"
    # Some prices rise with the length of a request: these are those of a short one.
    prices = (cost_of(served, Usage(_THOUSAND, 0)), cost_of(served, Usage(0, _THOUSAND)))
    return *named, _abilities(model.features), " / ".join("?" if p is None else f"{p * _THOUSAND:.2f}" for p in prices)


def _abilities(features: Features) -> str:
    values = ((field.name, getattr(features, field.name)) for field in fields(features))
    return ", ".join(name.replace("_", " ") for name, value in values if value is True and name != "temperature")


@dataclass(frozen=True, slots=True)
class _Answer:
    """How fast a model answered, or why it did not."""

    seconds: float
    error: TacticianError | None = None

    @property
    def text(self) -> str:
        return f"[green]{self.seconds:.2f} s[/green]" if self.error is None else "[red]no[/red]"


async def _check_all(catalog: ModelCatalog, entries: tuple[ModelEntry, ...]) -> list[_Answer]:
    return list(await asyncio.gather(*(_check(catalog, entry) for entry in entries)))


async def _check(catalog: ModelCatalog, entry: ModelEntry) -> _Answer:
    started = perf_counter()
    options = LlmOptions(model=entry.name, max_tokens=16, timeout=_SECONDS)
    try:
        await catalog.resolve(options).generate(ModelRequest((UserMessage("Say OK."),), options=options))
    except TacticianError as error:
        return _Answer(perf_counter() - started, error)
    return _Answer(perf_counter() - started)


def _explain(console: Console, default: str, reason: str, entries: tuple[ModelEntry, ...]) -> None:
    for entry in entries:
        if entry.name != default:
            console.print(f"[dim]{escape(entry.name)}: {escape(entry.origin)}[/dim]", highlight=False)
    console.print(f"The default is [bold]{escape(default)}[/bold], because {escape(reason)}.", highlight=False)
    console.print(
        "Others: by name at a provider whose key is set (openai:gpt-5.4), at Ollama (ollama:qwen3). "
        f"{MODEL_VARIABLE} or `default` under \\[models] in tactician.toml changes the default.",
        highlight=False,
    )
    if not any(entry.name == "local" for entry in entries):
        console.print(f"The embedded model is not installed: {INSTALL_HINT}", markup=False, highlight=False)
