"""JSON form of traces: a list of nodes, each with the id of the node around it, so that deep trees are no deep JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from pydantic_core import to_json

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.secrets import Masking
from tactician.text import replace_surrogates
from tactician.trace.node import TraceNode
from tactician.trace.sharing import mask_nodes

if TYPE_CHECKING:
    from pydantic import JsonValue, TypeAdapter

FORMAT: Final = "tactician-trace"
VERSION: Final = 1


@frozen(kw_only=True)
class _Row(TraceNode):
    """Node without those inside it, and with the id of the node around it."""

    parent: str | None = None

    def to_node(self, children: tuple[TraceNode, ...]) -> TraceNode:
        """Return the node with those inside it."""
        node_fields = {field.name: getattr(self, field.name) for field in fields(TraceNode)}
        return TraceNode(**node_fields | {"children": children})


@frozen(kw_only=True)
class _Document:
    format: Literal["tactician-trace"]
    version: Literal[1]
    nodes: tuple[_Row, ...]


def nodes_to_data(roots: Iterable[TraceNode]) -> dict[str, JsonValue]:
    """Return nodes as plain JSON values, with masks for secrets: what is written is passed on to others."""
    rows = [_clean(_to_row(node, parent)) for node, parent in _walk(mask_nodes(roots, Masking()))]
    return {"format": FORMAT, "version": VERSION, "nodes": rows}


def write_nodes(roots: Iterable[TraceNode]) -> str:
    """Return nodes as JSON."""
    return to_json(nodes_to_data(roots), indent=1, inf_nan_mode="null").decode()


def read_nodes(data: str | bytes) -> tuple[TraceNode, ...]:
    """Return the nodes that `write_nodes` wrote.

    Raises:
        StoredStateError: when the data is not a trace, or a newer program has written it.
    """
    from pydantic import ValidationError

    try:
        return _build(_adapter().validate_json(data).nodes)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise StoredStateError(f"This is not a trace of version {VERSION}: {place}: {first['msg']}") from error


def _build(rows: tuple[_Row, ...]) -> tuple[TraceNode, ...]:
    """Return the roots. A node stands behind the node around it, so that the tree is built from its end."""
    inside: dict[str | None, list[TraceNode]] = {None: []}
    for row in rows:
        if row.id in inside or row.parent not in inside:
            raise StoredStateError(f"This is not a trace: the node {row.id!r} is there twice, or in no other one.")
        inside[row.id] = []
    for row in reversed(rows):
        inside[row.parent].append(row.to_node(tuple(reversed(inside[row.id]))))
    return tuple(reversed(inside[None]))


def _to_row(node: TraceNode, parent: str | None) -> JsonValue:
    row: dict[str, JsonValue] = {"parent": parent, **asdict(replace(node, children=()))}
    del row["children"]
    return row


def _clean(value: JsonValue) -> JsonValue:
    """Return a JSON value without lone surrogates, which no file takes."""
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(name): _clean(item) for name, item in value.items()}
    return value


def _walk(roots: Iterable[TraceNode]) -> Iterable[tuple[TraceNode, str | None]]:
    waiting: list[tuple[TraceNode, str | None]] = [(root, None) for root in reversed(tuple(roots))]
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting.extend((child, node.id) for child in reversed(node.children))


@cache
def _adapter() -> TypeAdapter[_Document]:
    from pydantic import TypeAdapter

    return TypeAdapter(_Document)
