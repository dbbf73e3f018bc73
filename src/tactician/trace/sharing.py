"""Traces as they are passed on to others: without secrets, and bounded in size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import pydantic

from tactician.grammar import format_count
from tactician.secrets import Masking
from tactician.trace.node import TraceNode, TraceNote

MOST_NODES: Final = 6_000
MOST_CHARACTERS: Final = 4_000_000
_SHORTEST_LIMIT: Final = 100
Change: TypeAlias = Callable[[str, str], str]
"""Function that returns a changed text, from the text and the name of the value that it is."""


def prepare_nodes(
    roots: Iterable[TraceNode], masking: Masking | None = None, *, most_characters: int = MOST_CHARACTERS
) -> tuple[TraceNode, ...]:
    """Return the nodes with masks for secrets; of long traces, the first nodes and the beginnings of long texts.

    Args:
        roots: the outermost nodes.
        masking: masks; by default the masks of this process.
        most_characters: number of characters of all texts together.
    """
    walked = [*_walk(roots)]
    mask = (masking or Masking()).mask
    masked = [_replace_node_texts(node, mask) for node, _ in walked[:MOST_NODES]]
    limit = _find_limit([len(text) for node in masked for text in _list_texts(node)], most_characters)
    shortened = [_replace_node_texts(node, lambda text, _: _shorten(text, limit)) for node in masked]
    return _rebuild(shortened, [parent for _, parent in walked], len(walked) - len(masked))


def mask_nodes(roots: Iterable[TraceNode], masking: Masking) -> tuple[TraceNode, ...]:
    """Return the nodes, with masks for the secrets in their texts."""
    walked = [*_walk(roots)]
    masked = [_replace_node_texts(node, masking.mask) for node, _ in walked]
    return _rebuild(masked, [parent for _, parent in walked], 0)


def _walk(roots: Iterable[TraceNode]) -> Iterator[tuple[TraceNode, int]]:
    """Yield all nodes, each with the place of the node around it; -1 for roots."""
    waiting = [(root, -1) for root in reversed(tuple(roots))]
    place = 0
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting.extend((child, place) for child in reversed(node.children))
        place += 1


def _rebuild(nodes: Sequence[TraceNode], parents: Sequence[int], left_out: int) -> tuple[TraceNode, ...]:
    """Return the roots of a tree whose nodes stand behind the nodes around them."""
    inside: dict[int, list[TraceNode]] = {}
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if place == 0 and left_out:
            note = TraceNote(
                "left out", node.started, f"{format_count(left_out, 'more node')} left out: the trace is too long."
            )
            node = replace(node, notes=(*node.notes, note))
        finished = replace(node, children=tuple(reversed(inside.pop(place, []))))
        inside.setdefault(parents[place], []).append(finished)
    return tuple(reversed(inside.get(-1, [])))


def _find_limit(lengths: Sequence[int], most: int) -> int:
    """Return the length to which texts are shortened so that all of them together have at most so many characters."""
    remaining, ordered = most, sorted(lengths)
    for place, length in enumerate(ordered):
        share = remaining // (len(ordered) - place)
        if length > share:
            return max(share, _SHORTEST_LIMIT)
        remaining -= length
    return max(ordered, default=0)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({format_count(len(text), 'character')})"


def _replace_node_texts(node: TraceNode, change: Change) -> TraceNode:
    """Return a node whose texts are changed, without the nodes inside it."""
    notes = (
        replace(note, text=change(note.text, ""), content=_replace_all(note.content, change)) for note in node.notes
    )
    return replace(
        node,
        name=change(node.name, ""),
        error=None if node.error is None else change(node.error, ""),
        facts=_replace_all(node.facts, change),
        content=_replace_all(node.content, change),
        notes=tuple(notes),
        children=(),
    )


def _replace_all(values: Mapping[str, pydantic.JsonValue], change: Change) -> dict[str, pydantic.JsonValue]:
    return {name: replace_texts(value, name, change) for name, value in values.items()}


def replace_texts(value: pydantic.JsonValue, name: str, change: Change) -> pydantic.JsonValue:
    """Return a JSON value of some name whose texts are changed."""
    if isinstance(value, str):
        return change(value, name)
    if isinstance(value, list):
        return [replace_texts(item, name, change) for item in value]
    if isinstance(value, dict):
        return _replace_all(value, change)
    return value


def _list_texts(node: TraceNode) -> list[str]:
    """Return all texts of a node, without the texts of the nodes inside it."""
    texts: list[str] = []

    def collect(text: str, name: str) -> str:
        texts.append(text)
        return text

    _replace_node_texts(node, collect)
    return texts
