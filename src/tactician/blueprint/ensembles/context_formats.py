"""Format of the data that models read, in blueprints of ensembles."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.functions import export_object, find_object
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Part, Positive
from tactician.context_format import ContextFormat, ContextFormatter, ToonDelimiter, ToonFormatter

FormatName: TypeAlias = Annotated[Literal["json", "toon"], DEFERRED_IN_TEXT]


class ToonPart(Part):
    """Options of the format `toon`: the spaces of a level, and what stands between values."""

    indent: Positive | None = None
    delimiter: Annotated[ToonDelimiter, DEFERRED_IN_TEXT] | None = None


def build_context_format(
    format: FormatName | None, options: ToonPart | None, named: str | None, builder: Builder
) -> ContextFormat | ContextFormatter | None:
    """Return the format that the fields `contextFormat`, `toonOptions` and `contextFormatter` describe."""
    if options is not None and format != "toon":
        builder.add_problem("they are for contextFormat: toon alone", "toonOptions")
    kind: type[ContextFormatter] = ContextFormatter  # type: ignore[type-abstract] # it is checked, and not called
    formatter = find_object(named, kind, "a context formatter", builder, "contextFormatter")
    if format is None:
        return formatter
    if named is not None:
        builder.add_problem("there is a contextFormat too: leave out one of them", "contextFormatter")
    if options is None:
        return ContextFormat(format)
    return builder.attempt(lambda: ToonFormatter(**options.model_dump(exclude_none=True)), "toonOptions")


def export_context_format(
    context_format: ContextFormat | ContextFormatter | None, exporter: Exporter
) -> dict[str, Any]:
    """Return the fields of a format."""
    if isinstance(context_format, ContextFormat):
        return {"context_format": context_format}
    if type(context_format) is ToonFormatter:
        return {"context_format": ContextFormat.TOON, "toon_options": _export_options(context_format)}
    return {"context_formatter": export_object(context_format, "the formatter", exporter, "contextFormatter")}


def _export_options(formatter: ToonFormatter) -> ToonPart | None:
    usual, names = ToonFormatter(), ("indent", "delimiter")
    changed = {name: getattr(formatter, name) for name in names if getattr(formatter, name) != getattr(usual, name)}
    return ToonPart(**changed) if changed else None
