"""References and prompt contributors of agents in blueprints, as entries: the same as in `references.yml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar, cast

from pydantic import Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.documents.data import Data
from tactician.documents.models import list_mistakes
from tactician.errors import ConfigurationError
from tactician.prompts import LlmReference, PromptContributor
from tactician.references.entries import (
    CONTRIBUTOR_KINDS,
    REFERENCE_KINDS,
    EntryKind,
    create_contributor,
    create_reference,
    describe_entry,
)
from tactician.references.entry_fields import EntryScope
from tactician.references.late_kinds import LATE_KINDS
from tactician.secrets import has_secret

Entry: TypeAlias = Annotated[
    Mapping[str, JsonValue],
    Field(description="An object with a `kind`, and the fields of the kind."),
]
ReferenceEntry: TypeAlias = Annotated[
    Mapping[str, JsonValue],
    Field(
        description="An object with a `kind`, and the fields of the kind. Kinds: "
        f"{', '.join((*REFERENCE_KINDS, *LATE_KINDS))}, and full names of classes and functions.",
        examples=[
            {
                "kind": "library",
                "name": "handbook",
                "description": "Orders",
                "path": "handbook.db",
                "scope": {"team": "all"},
            },
            {"kind": "skills", "name": "office", "description": "Work at an office", "sources": [{"folder": "skills"}]},
            {"kind": "mcp", "server": "wiki", "patterns": ["wiki://public/*"]},
        ],
    ),
]
C = TypeVar("C", bound=PromptContributor)
_MODULE: Final = "tactician.references"
_FREE: Final = ("text", "file", *CONTRIBUTOR_KINDS)
"""Kinds that reach nothing outside of the folder of the blueprint."""


def build_references(entries: Sequence[Entry], builder: Builder) -> list[LlmReference]:
    """Return the references of entries."""
    return _build(entries, builder.at("references"), create_reference)


def build_contributors(entries: Sequence[Entry], builder: Builder) -> list[PromptContributor]:
    """Return the prompt contributors of entries."""
    return _build(entries, builder.at("contributors"), create_contributor)


def export_references(references: Sequence[LlmReference], exporter: Exporter) -> tuple[Entry, ...] | None:
    """Return the entries of references."""
    return _export(references, exporter.at("references"), REFERENCE_KINDS)


def export_contributors(contributors: Sequence[PromptContributor], exporter: Exporter) -> tuple[Entry, ...] | None:
    """Return the entries of prompt contributors."""
    return _export(contributors, exporter.at("contributors"), CONTRIBUTOR_KINDS)


def _build(entries: Sequence[Entry], builder: Builder, create: Callable[[Data, EntryScope], C]) -> list[C]:
    parts: list[C] = []
    for place, entry in enumerate(entries):
        part_builder = builder.at(place)
        if has_secret(entry):
            part_builder.add_problem("it may hold a secret, which a model would read")
            continue
        scope = EntryScope(builder.names, partial(_resolve_path, part_builder), partial(_check_kind, part_builder))
        try:
            parts.append(create(cast("Data", dict(entry)), scope))
        except ValidationError as error:
            for path, message in list_mistakes(error).items():
                part_builder.add_problem(message, *(step if isinstance(step, int) else to_camel(step) for step in path))
        except _RefusedError:
            continue
        except Exception as error:  # somebody else's code runs here
            part_builder.add_problem(str(error).partition("\n")[0] or type(error).__name__)
    return parts


class _RefusedError(Exception):
    """Error for what the builder has reported already."""


def _resolve_path(builder: Builder, path: str) -> Path:
    if (file := builder.resolve_file(path, "path")) is None:
        raise _RefusedError
    return file


def _check_kind(builder: Builder, kind: str) -> None:
    if kind not in _FREE and not builder.may_use(f"the reference {kind!r}", _MODULE, "kind"):
        raise _RefusedError


def _export(
    parts: Sequence[PromptContributor], exporter: Exporter, kinds: Mapping[str, EntryKind]
) -> tuple[Entry, ...] | None:
    entries: list[Entry] = []
    for place, part in enumerate(parts):
        try:
            entry = describe_entry(part, kinds, exporter.make_relative)
        except ConfigurationError as error:
            exporter.omit(f"{getattr(part, 'name', type(part).__name__)!r}: {error}", place)
            continue
        if has_secret(entry):
            exporter.add_problem("it may hold a secret; keep it out of the blueprint", place)
        else:
            entries.append(cast("Entry", {to_camel(name): value for name, value in entry.items()}))
    return tuple(entries) or None
