"""Map of a repository: the definitions that other files use most, within a budget of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tactician.coding.trees.symbols import SourceOutline, SymbolDefinition, read_outline
from tactician.frozen import frozen

_CHARACTERS_PER_TOKEN: Final = 4
_MENTIONED: Final = 50.0
"""Weight of a name that the task mentions."""
_NESTED: Final = 0.5


@frozen
class _Place:
    """Definition with its file, and how much it matters."""

    weight: float
    path: str
    definition: SymbolDefinition


def draw_map(root: Path, paths: Iterable[str], *, tokens: int, mentioned: str = "") -> str:
    """Return the most used definitions of a repository, file by file.

    A definition weighs as much as the files that use its name, each the less the more files define a symbol of that
    name. Names and files that the task mentions come first.

    Args:
        root: the folder.
        paths: the files, relative to the folder.
        tokens: length, at about four characters a token.
        mentioned: the text of the task.
    """
    outlines = {path: outline for path in paths if (outline := read_outline(root, path)) is not None}
    places = _weigh(outlines, mentioned)
    chosen: dict[str, list[SymbolDefinition]] = {}
    left = tokens * _CHARACTERS_PER_TOKEN
    for place in places:
        length = len(_draw_line(place.definition)) + (0 if place.path in chosen else len(place.path) + 2)
        if length <= left:
            left -= length
            chosen.setdefault(place.path, []).append(place.definition)
    return "\n".join(_draw_file(path, chosen[path]) for path in sorted(chosen))


def _weigh(outlines: dict[str, SourceOutline], mentioned: str) -> list[_Place]:
    defined = Counter(definition.name for outline in outlines.values() for definition in outline.definitions)
    used = Counter(word for outline in outlines.values() for word in outline.words if word in defined)
    places = [
        _Place(_find_weight(path, definition, used, defined, mentioned), path, definition)
        for path, outline in outlines.items()
        for definition in outline.definitions
    ]
    return sorted(places, key=lambda place: (-place.weight, place.path, place.definition.line))


def _find_weight(
    path: str, definition: SymbolDefinition, used: Counter[str], defined: Counter[str], mentioned: str
) -> float:
    name = definition.name
    weight = used[name] / defined[name] * (_NESTED if definition.depth else 1.0)
    if len(name) > 2 and name in mentioned:
        weight += _MENTIONED
    if path.rpartition("/")[2] in mentioned:
        weight += _MENTIONED / 2
    return weight * (0.5 if name.startswith("_") or "test" in path.lower() else 1.0)


def _draw_line(definition: SymbolDefinition) -> str:
    return f"{'  ' * (definition.depth + 1)}{definition.line}: {definition.signature}\n"


def _draw_file(path: str, definitions: Sequence[SymbolDefinition]) -> str:
    ordered = sorted(definitions, key=lambda definition: definition.line)
    return f"{path}\n{''.join(map(_draw_line, ordered))}"
