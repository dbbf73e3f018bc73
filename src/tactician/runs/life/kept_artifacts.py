"""Artifacts in the checkpoint of the outermost run, so that the result has them after any restart."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import reduce
from typing import Final, TypeVar, cast

import pydantic
from pydantic_core import to_json

from tactician.errors import StoredStateError
from tactician.runs.context.artifacts import EarlierArtifact, ProducedArtifact
from tactician.runs.context.context import RunContext
from tactician.runs.outcomes.result import RunResult
from tactician.runs.progress.checkpoint import Checkpoint, Live
from tactician.runs.values.stored_values import decode_value, encode_value

T = TypeVar("T")
_KEY: Final = "@artifacts"
"""Key of the checkpoint with the artifacts, inside the outermost checkpoint; they are there by their numbers."""
_MOST: Final = 1000
_LONGEST: Final = 1_000_000
"""Characters of the JSON form of an artifact. A longer one, or one that has no such form, is in this process only."""


def deliver_produced(produced: ProducedArtifact, context: RunContext) -> None:
    """Deliver an object that a tool produced to all who receive it; the next step that is saved has it too.

    Args:
        produced: the object.
        context: context of the call.
    """
    if context.artifacts is None:
        produced.announce()
    elif context.artifacts.deliver(produced) and (place := context.checkpoint) is not None:
        kept = place.root.at(_KEY)
        if (number := len(kept.data)) < _MOST:
            kept.set(**{str(number): {"keys": list(place.keys), "object": Live(produced.value, _encode)}})


def restore_artifacts(tree: Checkpoint) -> tuple[EarlierArtifact, ...]:
    """Return the artifacts that a run keeps, in their order, without those that have no JSON form."""
    places = tree.find_upwards(_KEY)
    return tuple(_restore(places[0].data)) if places else ()


def attach_artifacts(result: RunResult[T], context: RunContext) -> RunResult[T]:
    """Return the result with the objects that tools have produced in the run, in whichever process."""
    channel, place = context.artifacts, context.checkpoint
    if channel is not None and (channel.values or channel.earlier):
        result.artifacts = channel.list_inside(() if place is None else place.keys)
    return result


def _restore(data: Mapping[str, object]) -> Iterator[EarlierArtifact]:
    for number in sorted(data, key=int):
        match data[number]:
            case {"keys": list() as keys, "object": Live(value=value)}:
                yield EarlierArtifact(tuple(keys), value)
            case {"keys": list() as keys, "object": {"type": str(name), "value": value}}:
                yield EarlierArtifact(tuple(keys), _decode(name, value))


def _encode(value: object) -> object:
    """Return the JSON form, with the name of the class; `None` for what has none, as the run goes on without it."""
    try:
        plain = encode_value(value)
    except StoredStateError:
        return None
    if len(to_json(plain)) > _LONGEST:
        return None
    return {"type": f"{type(value).__module__}:{type(value).__qualname__}", "value": plain}


def _decode(name: str, value: pydantic.JsonValue) -> object:
    """Return the object, if the program has loaded its class of data; else its JSON form."""
    kind = _find_class(name)
    try:
        return value if kind is None else decode_value(value, kind)
    except StoredStateError:
        return value


def _find_class(name: str) -> type | None:
    """Return a dataclass or a model by its name; nothing is imported."""
    module, _, place = name.partition(":")
    start: object = sys.modules.get(module)
    kind = reduce(lambda owner, part: cast("object", getattr(owner, part, None)), place.split("."), start)
    is_data = isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, pydantic.BaseModel))
    return cast("type", kind) if is_data else None
