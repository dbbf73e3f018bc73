"""Settings of an agent's turns in blueprints: instructions, window and autonomy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.models import list_fields
from tactician.blueprint.schema_base import Count, Flag, Name, Part, Positive, convert_type, one_of
from tactician.conversation import CompactToolResults, SlidingWindow, Summarization, WindowStrategy
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import Chain
from tactician.documents.forms import form_of
from tactician.grammar import add_article
from tactician.loop import Autonomous
from tactician.names import NameProblem
from tactician.prompts import InstructionFile, InstructionTemplate, ProvidedInstructions
from tactician.prompts.package_files import PackagePath
from tactician.prompts.sources import InstructionSource


class InlinePart(Part):
    """Inline text; equivalent to a plain string."""

    source: Literal["inline"]
    text: str


class FilePart(Part):
    """Text file, relative to the file of the blueprint."""

    source: Literal["file"]
    path: Name


class ProviderPart(Part):
    """Prompt of a registered prompt provider."""

    source: Literal["provider"]
    provider_id: Name
    prompt_id: Name
    filters: Mapping[str, str] | None = None


class TemplatePart(Part):
    """Jinja template in a folder of templates, or in a package, as `package:acme.support/prompts/ragbot`."""

    source: Literal["template"]
    template: Name
    values: Mapping[str, JsonValue] | None = None


_SOURCES: dict[str, type[Part]] = {
    "inline": InlinePart,
    "file": FilePart,
    "provider": ProviderPart,
    "template": TemplatePart,
}
InstructionPart: TypeAlias = str | FilePart | ProviderPart | TemplatePart
Instructions: TypeAlias = Annotated[
    InstructionPart,
    BeforeValidator(
        lambda value: value.text if isinstance(value, InlinePart) else value,
        json_schema_input_type=str | InlinePart | FilePart | ProviderPart | TemplatePart,
    ),
    one_of("source", _SOURCES, "instructions", or_text=True),
]


def build_instructions(part: InstructionPart, builder: Builder) -> str | InstructionSource | None:
    """Return the instructions or their source; `None` when there was a problem."""
    if isinstance(part, str):
        return part
    if isinstance(part, FilePart):
        file = builder.resolve_file(part.path, "instructions", "path")
        if file is None:
            return None
        name = part.path if len(builder.files) <= 1 else builder.make_relative(file)  # the file of a $ref is elsewhere
        return builder.attempt(lambda: InstructionFile(name, file), "instructions")
    if isinstance(part, TemplatePart):
        return _build_template(part, builder.at("instructions"))
    source = ProvidedInstructions(part.provider_id, part.prompt_id, part.filters or {})
    return None if builder.attempt(source.check, "instructions") is None else source


def _build_template(part: TemplatePart, builder: Builder) -> InstructionTemplate | None:
    inside = PackagePath.parse(part.template)
    if inside is not None and not builder.may_use(f"the template {part.template!r}", inside.package, "template"):
        return None
    return InstructionTemplate(part.template, part.values or {})


def export_instructions(source: str | InstructionSource, exporter: Exporter) -> InstructionPart:
    """Return the part of instructions."""
    if isinstance(source, InstructionFile):
        return FilePart(source="file", path=str(source.path))
    if isinstance(source, ProvidedInstructions):
        filters = source.filters or None
        return ProviderPart(source="provider", provider_id=source.provider, prompt_id=source.prompt, filters=filters)
    if isinstance(source, InstructionTemplate) and isinstance(source.template, str):
        return _export_template(source.template, source.values, exporter)
    if not isinstance(source, str):
        exporter.add_problem(f"{add_article(type(source).__name__)} cannot be saved in a blueprint", "instructions")
        return ""
    return source


def _export_template(template: str, values: Mapping[str, object], exporter: Exporter) -> TemplatePart | str:
    try:
        data = cast("dict[str, JsonValue]", to_jsonable_python(dict(values)))
    except PydanticSerializationError:
        exporter.add_problem("the values of its template have no JSON form", "instructions", "values")
        return ""
    if data != dict(values):
        exporter.add_problem("the values of its template are not plain JSON", "instructions", "values")
    return TemplatePart(source="template", template=template, values=data or None)


@form_of(Autonomous, convert=convert_type)
class AutonomyPart(Part):
    """Autonomy of an agent; see `Autonomous`. Times are in seconds. `maxIterations: 0` removes the limit."""

    max_iterations: Count = 25


class SlidingPart(Part):
    """Sliding window on the newest messages."""

    strategy_type: Literal["sliding"]
    preserve_developer_messages: Flag = True
    max_tokens: Positive
    token_counter_class_name: Name | None = None


class SummarizationPart(Part):
    """Summarization of old messages."""

    strategy_type: Literal["summarization"]
    summarization_model: Name | None = None
    keep_recent_messages: Positive = 5
    max_tokens: Positive
    summarization_prompt: str | None = None
    token_counter_class_name: Name | None = None


class CompactionPart(Part):
    """Compaction of old tool results."""

    strategy_type: Literal["compaction"]
    after: Count
    keep_last: Positive = 1


class ChainPart(Part):
    """Window strategies in sequence."""

    strategy_type: Literal["chain"]
    strategies: Annotated[tuple[WindowPart, ...], Field(min_length=1)]


_STRATEGIES: dict[str, type[Part]] = {
    "sliding": SlidingPart,
    "summarization": SummarizationPart,
    "compaction": CompactionPart,
    "chain": ChainPart,
}
WindowPart: TypeAlias = Annotated[
    SlidingPart | SummarizationPart | CompactionPart | ChainPart,
    one_of("strategyType", _STRATEGIES, "contextManagement"),
]


def build_window(part: WindowPart, builder: Builder) -> WindowStrategy | None:
    """Return the strategy that a part describes."""
    match part:
        case SlidingPart():
            counter = _build_counter(part, builder)
            return SlidingWindow(part.max_tokens, part.preserve_developer_messages, counter)
        case SummarizationPart():
            model, prompt = part.summarization_model, part.summarization_prompt
            return Summarization(
                part.max_tokens, part.keep_recent_messages, model, prompt, _build_counter(part, builder)
            )
        case CompactionPart():
            return CompactToolResults(part.after, part.keep_last)
    inner = [build_window(strategy, builder.at("strategies", place)) for place, strategy in enumerate(part.strategies)]
    return Chain(tuple(strategy for strategy in inner if strategy is not None))


def export_window(strategy: WindowStrategy, exporter: Exporter) -> WindowPart | None:
    """Return the part of a window; `None` when a blueprint cannot express it."""
    match strategy:
        case SlidingWindow():
            return SlidingPart(
                strategy_type="sliding",
                preserve_developer_messages=strategy.preserve_system,
                max_tokens=strategy.max_tokens,
                token_counter_class_name=_find_counter_name(strategy.counter, exporter),
            )
        case Summarization():
            return SummarizationPart(
                strategy_type="summarization",
                summarization_model=strategy.model,
                keep_recent_messages=strategy.keep_recent,
                max_tokens=strategy.max_tokens,
                summarization_prompt=strategy.prompt,
                token_counter_class_name=_find_counter_name(strategy.counter, exporter),
            )
        case CompactToolResults():
            return CompactionPart(strategy_type="compaction", after=strategy.after, keep_last=strategy.keep_last)
        case Chain():
            inner = [
                export_window(inner_strategy, exporter.at("strategies", n))
                for n, inner_strategy in enumerate(strategy.strategies)
            ]
            parts = tuple(exported for exported in inner if exported is not None)
            return ChainPart(strategy_type="chain", strategies=parts) if parts else None
    exporter.add_problem(f"{add_article(type(strategy).__name__)} cannot be saved in a blueprint")
    return None


def build_autonomy(part: AutonomyPart) -> Autonomous:
    """Return the autonomy that a part describes."""
    values = list_fields(part)
    if (groups := values.get("enabled_tool_groups")) is not None:
        values["enabled_tool_groups"] = frozenset(groups)
    return Autonomous(**(values | {"max_iterations": part.max_iterations or None}))


def export_autonomy(autonomy: Autonomous) -> AutonomyPart:
    """Return the part of an agent's autonomy."""
    values = {field.name: getattr(autonomy, field.name) for field in fields(autonomy)}
    groups = autonomy.enabled_tool_groups
    values["max_iterations"] = autonomy.max_iterations or 0
    return AutonomyPart.model_validate(values | {"enabled_tool_groups": None if groups is None else sorted(groups)})


def _build_counter(part: SlidingPart | SummarizationPart, builder: Builder) -> TokenCounter | None:
    if (name := part.token_counter_class_name) is None:
        return None

    def create() -> TokenCounter:
        kind = builder.names.find(name)
        if not isinstance(kind, type):
            raise NameProblem(f"{name!r} is not a class")
        counter = builder.names.create(name, kind)
        if not callable(getattr(counter, "count", None)):
            raise NameProblem(f"{name!r} counts nothing: it has no method `count`")
        return cast("TokenCounter", counter)

    return builder.attempt(create, "tokenCounterClassName")


def _find_counter_name(counter: TokenCounter | None, exporter: Exporter) -> str | None:
    if counter is None:
        return None
    kind = type(counter)
    if not is_default_instance(counter):
        exporter.add_problem(
            f"{add_article(kind.__name__)} was made with arguments, which no name tells", "tokenCounterClassName"
        )
        return None
    return exporter.find_import_path(kind, f"the class {kind.__name__}", "tokenCounterClassName")
