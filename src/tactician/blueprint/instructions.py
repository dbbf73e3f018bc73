"""An agent's instructions: a text, or where the text is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator

from tactician.blueprint.parts import Name, Part, one_of
from tactician.prompts import InstructionFile, InstructionSource, ProvidedInstructions

if TYPE_CHECKING:
    from tactician.blueprint.building import Builder
    from tactician.blueprint.snapshot import Snapshot


class InlinePart(Part):
    """The text itself; the same as the text alone."""

    source: Literal["inline"]
    text: str


class FilePart(Part):
    """A text file, beside the file of the blueprint."""

    source: Literal["file"]
    path: Name


class ProviderPart(Part):
    """A text that a registered provider of prompts has."""

    source: Literal["provider"]
    provider_id: Name
    prompt_id: Name
    filters: Mapping[str, str] | None = None


_SOURCES: dict[str, type[Part]] = {"inline": InlinePart, "file": FilePart, "provider": ProviderPart}
Instructions: TypeAlias = Annotated[
    str | FilePart | ProviderPart,
    BeforeValidator(
        lambda value: value.text if isinstance(value, InlinePart) else value,
        json_schema_input_type=str | InlinePart | FilePart | ProviderPart,
    ),
    one_of("source", _SOURCES, "instructions", or_text=True),
]


def instructions_of(part: str | FilePart | ProviderPart, builder: Builder) -> str | InstructionSource | None:
    """The text that is meant, or where it is; `None` when it cannot be had."""
    if isinstance(part, str):
        return part
    if isinstance(part, FilePart):
        file = builder.file(part.path, "instructions", "path")
        if file is None:
            return None
        name = part.path if len(builder.files) <= 1 else builder.beside(file)  # one that a $ref names is elsewhere
        return builder.tried(lambda: InstructionFile(name, file), "instructions")
    source = ProvidedInstructions(part.provider_id, part.prompt_id, part.filters or {})
    return None if builder.tried(source.check, "instructions") is None else source


def instructions_part(source: str | InstructionSource, snapshot: Snapshot) -> str | FilePart | ProviderPart:
    """What is to be said of instructions."""
    if isinstance(source, InstructionFile):
        return FilePart(source="file", path=str(source.path))
    if isinstance(source, ProvidedInstructions):
        filters = source.filters or None
        return ProviderPart(source="provider", provider_id=source.provider, prompt_id=source.prompt, filters=filters)
    if not isinstance(source, str):
        snapshot.problem(f"a {type(source).__name__} has no place in a blueprint", "instructions")
        return ""
    return source
