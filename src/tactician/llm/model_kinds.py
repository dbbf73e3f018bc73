"""Kinds of models, and what the name of a model tells about its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

KindName: TypeAlias = Literal["chat", "embeddings", "images"]
KIND_NAMES: tuple[KindName, ...] = get_args(KindName)
# Parts of the names of such models, and of no others.
_MARKS: Mapping[KindName, tuple[str, ...]] = {"embeddings": ("embed",), "images": ("dall-e", "gpt-image")}


def guess_kind(model: str) -> KindName:
    """Return the kind of a model of which only the name is known: chat, unless the name tells otherwise."""
    name = model.lower()
    return next((kind for kind, marks in _MARKS.items() if any(mark in name for mark in marks)), "chat")
