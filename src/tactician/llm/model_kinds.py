"""Kinds of models, and the kind that the name of a model implies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

KindName: TypeAlias = Literal["chat", "embeddings", "images"]
KIND_NAMES: tuple[KindName, ...] = get_args(KindName)
# Substrings of the names of such models, and of no others.
_MARKS: Mapping[KindName, tuple[str, ...]] = {"embeddings": ("embed",), "images": ("dall-e", "gpt-image")}


def guess_kind(model: str) -> KindName:
    """Return the kind of a model by its name alone: chat, unless the name implies another kind."""
    name = model.lower()
    return next((kind for kind, marks in _MARKS.items() if any(mark in name for mark in marks)), "chat")
