"""`tactician models`: abilities, prices and health of the available models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import isfinite
from time import perf_counter
from typing import cast

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from tactician.cli.choosing import EMBEDDED
from tactician.errors import ConfigurationError, TacticianError
from tactician.frozen import frozen
from tactician.llm import (
    EmbeddingModel,
    ImageModel,
    LanguageModel,
    LlmOptions,
    ModelCatalog,
    ModelRequest,
    Usage,
    UserMessage,
)
from tactician.llm.embedded import LOCAL_INSTALL_HINT
from tactician.llm.embeddings.model import EmbeddingOptions
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.endpoint_resolver import MODEL_VARIABLE, ModelEntry
from tactician.llm.images import RemoteImageModel
from tactician.llm.remote import RemoteModel
from tactician.llm.routing.chat import RoutedModel
from tactician.llm.routing.deployment import DeploymentStatus
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.usage import calculate_cost
from tactician.secrets import mask_secrets
from tactician.text import escape_controls

_THOUSAND = 1000
_SECONDS = 60.0
_MADE = {"embeddings": "embeddings", "images": "image generation"}
_NOT_CALLED = "[dim]not called yet[/dim]"
# What an endpoint calls what it can do, and what people call that.
_ABILITIES = {
    "function_calling": "tools",
    "structured_output": "structured output",
    "vision": "images",
    "documents": "documents",
    "reasoning": "reasoning",
    "web_search": "web search",
    "code_interpreter": "code interpreter",
}


@frozen
class _Check:
    """Time that a model took to answer, or its error."""

    seconds: float
    error: TacticianError | None = None

    @property
    def text(self) -> str:
        """The result for the table."""
        return f"[green]ok[/green], {self.seconds:.2f} s" if self.error is None else "[red]failed[/red]"


def show_models(console: Console, catalog: ModelCatalog, *, check: bool) -> bool:
    """Print the table; return whether all checked models answered.

    Raises:
        ConfigurationError: when there is no model at all.
    """
    default, reason = _find_default(catalog)
    entries = (*catalog.list_entries(), *catalog.list_named_entries())
    checks = asyncio.run(_check_all(catalog, entries)) if check else {}
    console.print(_build_table(catalog, default, entries, checks))
    for entry, result in checks.items():
        if result.error is not None:
            why = mask_secrets(str(result.error)).removeprefix(f"{entry.full_name}: ")
            console.print(f"[red]{escape(entry.full_name)}[/red] does not answer: {escape(why)}", highlight=False)
    _explain(console, default, reason, entries)
    return not any(result.error for result in checks.values())


def _find_default(catalog: ModelCatalog) -> tuple[str, str]:
    """Return the default model and the reason for it.

    Raises:
        ConfigurationError: when no model is the default; the message has the models of a server that nobody has chosen
            from.
    """
    try:
        return catalog.default
    except ConfigurationError as error:
        if names := asyncio.run(catalog.list_served_models()):
            raise ConfigurationError(f"{error}. It has: {escape_controls(', '.join(names))}") from error
        raise


def _build_table(
    catalog: ModelCatalog, default: str, entries: tuple[ModelEntry, ...], checks: Mapping[ModelEntry, _Check]
) -> Table:
    table = Table("", Column("model", no_wrap=True), "served by", "can", "$ / M tokens", "health")
    if default not in (name for entry in entries for name in (entry.name, entry.full_name)):
        table.add_row("→", escape(default))
    health = catalog.get_statuses()
    for entry in entries:
        mark = "→" if default in (entry.name, entry.full_name) else ""
        state = _describe_health(health.get(entry.full_name), checks.get(entry))
        table.add_row(mark, escape(entry.name), escape(entry.provider), *_describe_entry(catalog, entry), state)
    return table


def _describe_entry(catalog: ModelCatalog, entry: ModelEntry) -> tuple[str, str]:
    """Return the abilities and the prices of a model."""
    try:
        model = _find(catalog, entry)
    except TacticianError as error:
        return f"[red]{escape(str(error))}[/red]", ""
    served = model.models[0] if isinstance(model, RoutedModel | RoutedEmbeddingModel | RoutedImageModel) else model
    abilities = [_MADE[entry.kind]] if entry.kind in _MADE else _format_abilities(cast("LanguageModel", served))
    return escape(", ".join(abilities)), _format_prices(entry, served)


def _find(catalog: ModelCatalog, entry: ModelEntry) -> LanguageModel | EmbeddingModel | ImageModel:
    if entry.kind == "embeddings":
        return catalog.embedding_model(entry.full_name)
    if entry.kind == "images":
        return catalog.image_model(entry.full_name)
    return catalog.resolve(LlmOptions(model=entry.full_name))


def _format_prices(entry: ModelEntry, model: LanguageModel | EmbeddingModel | ImageModel) -> str:
    remote = model if isinstance(model, RemoteModel | RemoteEmbeddingModel | RemoteImageModel) else None
    endpoint_price = remote.endpoint.find_price(remote.model) if remote is not None else None
    # Some prices rise with the length of a request: these are the prices of a short request.
    usages = Usage(_THOUSAND, 0), Usage(0, _THOUSAND)
    costs = [calculate_cost(entry.full_name, usage, endpoint_price) for usage in usages]
    return " / ".join("?" if cost is None else f"{cost * _THOUSAND:.2f}" for cost in costs)


def _format_abilities(model: LanguageModel) -> list[str]:
    features = model.features
    if not isinstance(model, RemoteModel) or (check := model.endpoint.feature_check) is None:
        has = {"tools": features.tools, "structured output": features.json_schema, "images": features.images}
        return [name for name, there in has.items() if there]
    dialect = model.endpoint.dialect
    reasons = bool(dialect.reasoning_effort or dialect.thinking)
    supported = check.supported if reasons else check.supported - {"reasoning"}
    others = sorted(supported - _ABILITIES.keys())
    return [name for ability, name in _ABILITIES.items() if ability in supported] + others


def _describe_health(status: DeploymentStatus | None, check: _Check | None) -> str:
    """Return the health of a model as the router saw it; else the result of the check."""
    if status is None or not status.requests:
        return _NOT_CALLED if check is None else check.text
    failure = f" ({mask_secrets(status.failure)})" if status.failure else ""
    if status.cooldown_seconds:
        cooldown = (
            f"circuit open for {status.cooldown_seconds:.0f} s"
            if isfinite(status.cooldown_seconds)
            else "is tried again"
        )
        return f"[yellow]{cooldown}{failure}[/yellow]"
    if failure:
        return f"[red]failed{failure}[/red]"
    if status.latency is None or status.average_latency is None:
        return "[dim]no answer yet[/dim]"
    average = f", {status.average_latency:.2f} s on average" if status.answers > 1 else ""
    return f"[green]ok[/green], {status.latency:.2f} s{average}"


async def _check_all(catalog: ModelCatalog, entries: tuple[ModelEntry, ...]) -> dict[ModelEntry, _Check]:
    """Check all models except image models, as images are expensive: remote models at once, then the embedded ones.

    Loading an embedded model holds up the whole program for a second, which would count as the time of the others.
    """
    asked = [entry for entry in entries if entry.kind != "images"]
    checks: dict[ModelEntry, _Check] = {}
    for embedded in (False, True):
        group = [entry for entry in asked if (entry.full_name.partition(":")[0] == EMBEDDED) is embedded]
        checks.update(zip(group, await asyncio.gather(*(_check(catalog, entry) for entry in group)), strict=True))
    return {entry: checks[entry] for entry in asked}


async def _check(catalog: ModelCatalog, entry: ModelEntry) -> _Check:
    started = perf_counter()
    options = LlmOptions(model=entry.full_name, max_tokens=16, timeout=_SECONDS)
    request = ModelRequest((UserMessage("Say OK."),), options=options)
    try:
        model = _find(catalog, entry)
        if isinstance(model, RoutedEmbeddingModel):
            await model.probe("OK", EmbeddingOptions(timeout=_SECONDS))
        elif isinstance(model, RoutedModel):
            await model.probe(request)
        else:
            await cast("LanguageModel", model).generate(request)
    except TacticianError as error:
        return _Check(perf_counter() - started, error)
    return _Check(perf_counter() - started)


def _explain(console: Console, default: str, reason: str, entries: tuple[ModelEntry, ...]) -> None:
    for name, origin in dict.fromkeys((entry.name, entry.origin) for entry in entries):
        if name != default:
            console.print(f"[dim]{escape(name)}: {escape(origin)}[/dim]", highlight=False)
    console.print(f"The default is [bold]{escape(default)}[/bold], because {escape(reason)}.", highlight=False)
    console.print(
        "Others: by name at a provider whose key is set (openai:gpt-5.4), at Ollama (ollama:qwen3). "
        f"{MODEL_VARIABLE} or `default` under \\[models] in tactician.toml changes the default.",
        highlight=False,
    )
    if not any(entry.name == "local" for entry in entries):
        console.print(f"The embedded model is not installed. {LOCAL_INSTALL_HINT}", markup=False, highlight=False)
