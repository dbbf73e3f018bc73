"""Views of a mesh in a terminal: its nodes, and its topology."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import typer

from tactician.cli.console import out
from tactician.cli.formatting import shorten

if TYPE_CHECKING:
    from tactician.mesh import Mesh
    from tactician.mesh.messages.cards import NodeCard

_AGAIN = 1.0


async def show_mesh(mesh: Mesh, describe: Callable[[list[NodeCard]], Iterator[str]], watch: bool) -> None:
    """Print a view of a mesh, and again whenever it changes, if that is asked for."""
    async with mesh:
        await mesh.directory.find(mesh.realm, "")  # all cards come in that time
        shown = _print(mesh, [*describe(await mesh.nodes())], "")
        while watch:
            await mesh.clock.sleep(_AGAIN)
            shown = _print(mesh, [*describe(await mesh.nodes())], shown)


def _print(mesh: Mesh, lines: list[str], shown: str) -> str:
    """Print what has changed, and return it."""
    if not lines:
        lines = ["No nodes answered. `tactician node FILE` starts one."]
    if mesh.state == "AWAY":
        lines = ["The broker does not answer; this is what was there.", *lines]
    if (text := "\n".join(lines)) != shown:
        if shown and out.is_terminal:
            out.clear()
        typer.echo(text if shown == "" else f"\n{text}")
    return text


def describe_nodes(cards: list[NodeCard]) -> Iterator[str]:
    """Yield a line for each instance, and for each of its capabilities."""
    for card in cards:
        yield f"{card.node}  {card.state}  {card.running} running, {card.queue_depth} waiting  realm {card.realm}"
        for capability in card.capabilities:
            tags = f"  [{shorten(', '.join(capability.tags))}]" if capability.tags else ""
            version = f"  version {shorten(capability.version)}" if capability.version else ""
            yield f"  {shorten(capability.name)}  ({capability.kind}){version}{tags}"


def describe_topology(cards: list[NodeCard]) -> Iterator[str]:
    """Yield the realms, their nodes with the instances of each, and what connects them."""
    for realm, in_realm in groupby(cards, attrgetter("realm")):
        yield f"realm {realm}"
        for node, instances in groupby(in_realm, attrgetter("node")):
            yield from _describe_node(node, [*instances])


def _describe_node(node: str, cards: list[NodeCard]) -> Iterator[str]:
    yield f"├─ {node}{'  (for other realms too)' if any(card.is_shareable for card in cards) else ''}"
    for card in cards:
        limit = "" if card.queue_limit is None else f" of {card.queue_limit}"
        load = f"{card.running} of {card.max_concurrent} running, {card.queue_depth}{limit} waiting"
        pace = "" if card.seconds_per_request is None else f", {card.seconds_per_request:.3g} s each"
        yield f"│  ├─ {card.state}  {load}{pace}"
    names = sorted({capability.name for card in cards for capability in card.capabilities})
    topics = sorted({topic for card in cards for topic in card.topics})
    schedules = sorted({(each.name, each.publish_to or "") for card in cards for each in card.schedules})
    if names:
        yield shorten(f"│  ├─ offers {', '.join(names)}", 200)
    if topics:
        yield shorten(f"│  ├─ ◀ {', '.join(topics)}", 200)
    for name, topic in schedules:
        yield shorten(f"│  ├─ ⏱ {name}{f' ▶ {topic}' if topic else ''}", 200)
