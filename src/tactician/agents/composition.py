"""Composition of a Runnable: the Runnables inside it with their roles, and a drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol, runtime_checkable

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode
from tactician.runs import Runnable

_MOST_NODES: Final = 200


class Member(NamedTuple):
    """Runnable inside another, and its role there, such as a route's description."""

    role: str
    runnable: Runnable


@runtime_checkable
class Composed(Protocol):
    """Runnable that lists the Runnables inside it."""

    @property
    def composition(self) -> tuple[Member, ...]:
        """The Runnables inside, with their roles."""
        ...

    @property
    def label(self) -> tuple[str, ...]:
        """The lines that name the Runnable in a drawing."""
        ...


@runtime_checkable
class Wrapper(Protocol):
    """Runnable that wraps another under the same name."""

    @property
    def inner(self) -> Runnable:
        """The wrapped Runnable."""
        ...


def draw_composition(runnable: Runnable) -> Diagram:
    """Draw a Runnable and all Runnables inside it, each once. At most 200 are drawn."""
    runnable = _unwrap(runnable)
    numbers: dict[int, str] = {}
    runnables: list[Runnable] = []
    edges: list[DiagramEdge] = []
    for outer, member in _walk(runnable):
        if id(member.runnable) not in numbers and len(runnables) < _MOST_NODES:
            numbers[id(member.runnable)] = _id_of(member.runnable, len(runnables))
            runnables.append(member.runnable)
        if outer is not None and {id(outer), id(member.runnable)} <= numbers.keys():
            edges.append(DiagramEdge(numbers[id(outer)], numbers[id(member.runnable)], member.role))
    nodes = tuple(_draw(part, numbers[id(part)], is_first=part is runnable) for part in runnables)
    return Diagram(nodes, tuple(edges))


def list_inner(runnable: Runnable) -> Iterator[Runnable]:
    """Yield the Runnables inside a Runnable, at any depth, each once. At most 200 are entered."""
    return (member.runnable for outer, member in _walk(_unwrap(runnable)) if outer is not None)


def _walk(runnable: Runnable) -> Iterator[tuple[Runnable | None, Member]]:
    """Yield each Runnable with its parent; each is entered once."""
    yield None, Member("", runnable)
    waiting, entered = [runnable], {id(runnable)}
    while waiting and len(entered) <= _MOST_NODES:
        outer = waiting.pop(0)
        for role, inside in outer.composition if isinstance(outer, Composed) else ():
            member = Member(role, _unwrap(inside))
            yield outer, member
            if id(member.runnable) not in entered:
                entered.add(id(member.runnable))
                waiting.append(member.runnable)


def _unwrap(runnable: Runnable) -> Runnable:
    while isinstance(runnable, Wrapper):
        runnable = runnable.inner
    return runnable


def _draw(runnable: Runnable, node: str, *, is_first: bool) -> DiagramNode:
    label = runnable.label if isinstance(runnable, Composed) else (runnable.name, type(runnable).__name__)
    return DiagramNode(node, label, "double" if is_first else "box")


def _id_of(runnable: Runnable, number: int) -> str:
    return f"{re.sub(r'[^A-Za-z0-9]', '_', runnable.name)}_{number}"
