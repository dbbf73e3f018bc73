"""Symbols of a repository: where they are defined, and where they are used."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tactician.coding.trees.languages import Grammar, find_grammar
from tactician.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SOURCE: Final = 1_000_000
"""Bytes of a file that is parsed: longer ones are generated."""
_WORD: Final = re.compile(rb"[A-Za-z_]\w{2,}")
_LONGEST_SIGNATURE: Final = 160
_CACHE: Final[dict[str, tuple[tuple[int, int], SourceOutline]]] = {}
_MAX_CACHED: Final = 50_000


@frozen
class SymbolDefinition:
    """Definition of a symbol.

    Attributes:
        name: its name.
        kind: its kind, such as `"function"`.
        line: its first line, from 1.
        last: its last line.
        signature: the text of the first line.
        depth: number of definitions that it is inside of.
    """

    name: str
    kind: str
    line: int
    last: int
    signature: str
    depth: int


@frozen
class SourceOutline:
    """Definitions of a file, and all words in it."""

    definitions: tuple[SymbolDefinition, ...]
    words: frozenset[str]


def read_outline(root: Path, path: str) -> SourceOutline | None:
    """Return the outline of a file, from memory while the file is the same; `None` for what nothing can parse."""
    if (grammar := find_grammar(path)) is None:
        return None
    file = f"{root}/{path}"
    try:
        status = os.lstat(file)
        stamp = (status.st_mtime_ns, status.st_size)
        if (cached := _CACHE.get(file)) is not None and cached[0] == stamp:
            return cached[1]
        if status.st_size > MAX_SOURCE:
            return None
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            content = opened.read(MAX_SOURCE + 1)
    except OSError:
        return None
    outline = SourceOutline(tuple(find_definitions(content, grammar)), find_words(content))
    if len(_CACHE) >= _MAX_CACHED:
        _CACHE.clear()
    _CACHE[file] = (stamp, outline)
    return outline


def find_words(content: bytes) -> frozenset[str]:
    """Return the words of a text that can be names."""
    return frozenset(word.decode(errors="replace") for word in set(_WORD.findall(content)))


def find_definitions(content: bytes, grammar: Grammar) -> Iterator[SymbolDefinition]:
    """Yield the definitions in a source text, in order."""
    from tree_sitter import QueryCursor

    matches = QueryCursor(grammar.definitions).matches(grammar.parser.parse(content).root_node)
    pairs: dict[int, tuple[str, Node, Node]] = {}
    for _, captures in matches:
        name = captures["name"][0]
        kind, node = next((kind, nodes[0]) for kind, nodes in captures.items() if kind != "name")
        pairs[name.start_byte] = (kind, node, name)
    ends: list[int] = []
    for kind, node, name in sorted(pairs.values(), key=lambda pair: (pair[1].start_byte, -pair[1].end_byte)):
        while ends and ends[-1] <= node.start_byte:
            ends.pop()
        line = content[content.rfind(b"\n", 0, name.start_byte) + 1 :].split(b"\n", 1)[0]
        yield SymbolDefinition(
            (name.text or b"").decode(errors="replace"),
            kind,
            name.start_point[0] + 1,
            node.end_point[0] + 1,
            line.decode(errors="replace").strip().rstrip("{:").strip()[:_LONGEST_SIGNATURE],
            len(ends),
        )
        ends.append(node.end_byte)


def find_symbol_definitions(root: Path, paths: Iterable[str], name: str) -> Iterator[tuple[str, SymbolDefinition]]:
    """Yield the definitions of a name, with the paths of their files. `Class.method` names a method of a class."""
    outer, _, last = name.rpartition(".")
    for path in paths:
        if (outline := read_outline(root, path)) is None or last not in outline.words:
            continue
        for definition in outline.definitions:
            if definition.name.rpartition("::")[2] == last and (not outer or _is_inside(outline, definition, outer)):
                yield path, definition


def _is_inside(outline: SourceOutline, definition: SymbolDefinition, outer: str) -> bool:
    sought = outer.rpartition(".")[2]
    return any(
        around.name == sought and around.line <= definition.line <= around.last and around is not definition
        for around in outline.definitions
    )


def find_uses(root: Path, paths: Iterable[str], name: str) -> Iterator[tuple[str, int, str]]:
    """Yield the places at which a name is used: the path, the number of the line, and the line.

    Comments and texts are left out, where a grammar tells them apart.
    """
    word = re.compile(rf"\b{re.escape(name)}\b".encode())
    for path in paths:
        outline = read_outline(root, path)
        if outline is None or name not in outline.words or (grammar := find_grammar(path)) is None:
            continue
        content = _read(f"{root}/{path}")
        lines, tree, defined = content.split(b"\n"), None, {d.line for d in outline.definitions if d.name == name}
        shown: set[int] = set()
        for match in word.finditer(content):
            number = content.count(b"\n", 0, match.start()) + 1
            tree = tree or grammar.parser.parse(content)
            node = tree.root_node.descendant_for_byte_range(match.start(), match.end())
            is_name = node is not None and not {"comment", "string"} & set(node.type.split("_"))
            if is_name and number not in defined and number not in shown:
                shown.add(number)
                yield path, number, lines[number - 1].decode(errors="replace").strip()


def _read(file: str) -> bytes:
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as opened:
            return opened.read(MAX_SOURCE)
    except OSError:
        return b""
