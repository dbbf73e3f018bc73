"""`Trace`: the tree of all that a run did."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from tactician.events import Event
from tactician.events.encoding import encode
from tactician.trace.node import ModelUse, TraceNode, merge_uses, sum_uses


class Trace:
    """Tree of all that a run did: runs, tasks, calls of models, tools, delegations, phases and reviews.

    Args:
        roots: the outermost nodes: one, unless it is the trace of several runs.
    """

    def __init__(self, roots: Iterable[TraceNode] = ()) -> None:
        all_roots = tuple(roots)
        self._create: Callable[[], tuple[TraceNode, ...]] = lambda: all_roots

    @classmethod
    def from_events(cls, events: Iterable[Event], run_id: str | None = None, *, is_whole: bool = False) -> Trace:
        """Return the trace that events tell of, such as the events of `read_event_log`.

        The events of a run that went on in another process belong behind the events of the first process: then the run
        is a single tree.

        Args:
            events: the events, in the order in which they happened.
            run_id: the run; all of them by default.
            is_whole: true to keep all texts as they are; else long ones are shortened, and repeated ones left out.
        """
        from tactician.trace.building import TreeBuilder

        builder = TreeBuilder(is_whole=is_whole)
        builder.add(events)
        return cls(builder.build(run_id))

    @classmethod
    def lazy(cls, create: Callable[[], Trace]) -> Trace:
        """Return a trace that is made when it is first read."""
        trace = cls()
        trace._create = lambda: create().roots
        return trace

    @classmethod
    def from_json(cls, data: str | bytes | Path) -> Trace:
        """Return the trace that `to_json` wrote.

        Args:
            data: JSON text, or the path of a file.

        Raises:
            StoredStateError: when it is not a trace, or a newer program has written it.
            OSError: when the file cannot be read.
        """
        from tactician.trace.json_form import read_nodes

        return cls(read_nodes(data.read_bytes() if isinstance(data, Path) else data))

    @cached_property
    def roots(self) -> tuple[TraceNode, ...]:
        """The outermost nodes."""
        return self._create()

    def __eq__(self, other: object) -> bool:
        return self.roots == other.roots if isinstance(other, Trace) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # nodes have mappings

    def __repr__(self) -> str:
        return f"Trace({', '.join(f'{node.kind} {node.name!r}' for node in self.roots)})"

    def __bool__(self) -> bool:
        return bool(self.roots)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> object:
        """Return a schema for `None` only: a trace has a JSON form of its own, and is not stored with its result."""
        from pydantic_core import core_schema

        return core_schema.none_schema()

    def walk(self) -> Iterator[TraceNode]:
        """Yield all nodes, each before those inside it."""
        for root in self.roots:
            yield from root.walk()

    def find(self, kind: str, name: str | None = None) -> list[TraceNode]:
        """Return the nodes of a kind, or those with a name among them, in the order of the tree."""
        return [node for node in self.walk() if node.kind == kind and name in (None, node.name)]

    @property
    def use_by_model(self) -> Mapping[str, ModelUse]:
        """Requests, tokens and cost of each model."""
        return merge_uses(use for node in self.walk() for use in node.used)

    @property
    def total_use(self) -> ModelUse:
        """Requests, tokens and cost of all models together."""
        return sum_uses(self.use_by_model.values())

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the trace as JSON, and write it to a file that only its owner may read, unless the path is `None`.

        All exports have masks for keys, passwords and the values of environment variables that are named so.
        """
        from tactician.trace.json_form import write_nodes

        return _write(write_nodes(self.roots), path)

    def to_toon(self, path: str | Path | None = None) -> str:
        """Return the trace as TOON, which is shorter than JSON, and write it to a file, unless the path is `None`.

        Raises:
            MissingExtraError: when the extra `toon` is not installed.
        """
        from tactician.context_format import ContextFormat, load_formatter
        from tactician.trace.json_form import nodes_to_data

        return _write(load_formatter(ContextFormat.TOON).format(nodes_to_data(self.roots)), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the trace as a web page that needs no network, and write it to a file, unless the path is `None`.

        It has a timeline, the tree with all that was captured, and the use and cost of each model.
        """
        from tactician.trace.page import render_page

        return _write(render_page(self.roots), path)


@encode.register(Trace)
def _(trace: Trace, depth: int = 0) -> None:
    """Return nothing: a trace is not a part of the JSON form of its result."""


def _write(text: str, path: str | Path | None) -> str:
    def open_private(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    if path is not None:
        with open(path, "w", encoding="utf-8", opener=open_private) as file:
            file.write(text)
    return text
