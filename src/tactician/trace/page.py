"""Web page of a trace: a single file without scripts, and without anything from the network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, NodeStatus
from tactician.diagrams.svg import to_svg
from tactician.events.span_facts import SpanKind
from tactician.frozen import frozen
from tactician.text import escape_controls
from tactician.trace.figures import format_cost, format_moment, format_seconds, format_tokens
from tactician.trace.node import ModelUse, TraceNode, TraceNote, merge_uses, sum_uses
from tactician.trace.sharing import prepare_nodes

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER: Final = Path(__file__).parent
_OVERVIEW: Final = frozenset({SpanKind.TASK, SpanKind.PHASE, SpanKind.REVIEW, SpanKind.DELEGATION, SpanKind.ACTION})
"""Kinds of nodes that the timeline shows, beside the outermost runs and those around such nodes. The tree shows all."""

BLACKBOARD: Final = "blackboard"
"""Content of a run that has a section of the page: its objects, each with `type`, `name`, `value` and `hidden`."""
_MOST_DRAWN: Final = 40
_NOTHING: Final = "gave nothing"


@frozen
class _Bar:
    x: str
    width: str
    is_pause: bool = False


@frozen
class _Text:
    label: str
    text: str


@frozen
class _Row:
    """Node as the page shows it."""

    place: str
    depth: int
    kind: str
    name: str
    status: str
    bars: tuple[_Bar, ...]
    seconds: str
    tokens: str
    cost: str
    error: str
    facts: Mapping[str, str]
    texts: Sequence[_Text]
    notes: Sequence[_Text]
    is_open: bool


def render_page(roots: Sequence[TraceNode]) -> str:
    """Return the page of a trace, with masks for secrets; of a long trace, as much as a page can hold."""
    roots = prepare_nodes(roots)
    rows = _create_rows(roots)
    uses = merge_uses(use for node, _ in rows for use in node.used)
    total = sum_uses(uses.values())
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    return _template().render(
        title=" + ".join(_clean(root.name) for root in roots) or "Nothing was captured",
        roots=[_summarize(root) for root in roots],
        known_kinds=[kind.value for kind in SpanKind],
        style=style,
        style_hash=b64encode(sha256(style.encode()).digest()).decode(),
        overview=[row for node, row in rows if _is_in_overview(node, row)],
        tree=list(_nest([row for _, row in rows])),
        plans=[*_draw_plans(rows)],
        boards=[(row.place, row.name, _list_objects(node)) for node, row in rows if node.content.get(BLACKBOARD)],
        reviews=[row for node, row in rows if node.kind == SpanKind.REVIEW or "decision" in node.facts],
        waits=[note for _, row in rows for note in row.notes if note.label.startswith("RunSuspended")],
        models=[_describe_use(use) for use in uses.values()],
        total=_describe_use(total) if len(uses) > 1 else None,
    )


def _create_rows(roots: Sequence[TraceNode]) -> list[tuple[TraceNode, _Row]]:
    began = min((root.started for root in roots), default=0.0)
    ended = max((_find_end(node) for root in roots for node in root.walk()), default=began)
    scale = 100 / max(ended - began, 1e-9)
    placed = [*_walk(roots)]
    totals = _sum_up(placed)
    return [
        (node, _create_row(node, depth, f"n{place}", totals[place], began, ended, scale))
        for place, (node, depth) in enumerate(placed)
    ]


def _walk(roots: Sequence[TraceNode]) -> Iterator[tuple[TraceNode, int]]:
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(node.children))


def _sum_up(placed: Sequence[tuple[TraceNode, int]]) -> list[ModelUse]:
    """Return the use of each node with all inside it, which stand behind it."""
    totals: list[ModelUse] = []
    inside: dict[int, ModelUse] = {}
    for node, depth in reversed(placed):
        total = sum_uses((*node.used, inside.pop(depth + 1, ModelUse(""))))
        inside[depth] = total + inside.get(depth, ModelUse(""))
        totals.append(total)
    return totals[::-1]


def _create_row(
    node: TraceNode, depth: int, place: str, use: ModelUse, began: float, ended: float, scale: float
) -> _Row:
    def draw(start: float, end: float, *, is_pause: bool = False) -> _Bar:
        return _Bar(f"{(start - began) * scale:.3f}%", f"{max(0.25, (end - start) * scale):.3f}%", is_pause)

    bars = (draw(node.started, ended if node.ended is None else node.ended),)
    return _Row(
        place,
        depth,
        _clean(node.kind),
        _clean(_name_node(node)),
        _clean(_find_status(node)),
        (*bars, *(draw(pause.started, pause.ended, is_pause=True) for pause in node.pauses)),
        "" if node.seconds is None else format_seconds(node.seconds),
        format_tokens(use) if use.requests else "",
        format_cost(use) if use.requests else "",
        _clean(node.error or ""),
        {_clean(name): _clean(_write(value)) for name, value in _list_facts(node)},
        [*chain.from_iterable(_list_texts(name, node.content[name]) for name in node.content if name != BLACKBOARD)],
        [_describe_note(note, began) for note in node.notes],
        depth < 2,
    )


def _nest(rows: Sequence[_Row]) -> Iterator[tuple[_Row, bool, int]]:
    """Yield each row with whether others are inside it, and how many end after it."""
    for place, row in enumerate(rows):
        following = rows[place + 1].depth if place + 1 < len(rows) else 0
        yield row, following > row.depth, max(0, row.depth - following + 1)


def _list_facts(node: TraceNode) -> Iterator[tuple[str, JsonValue]]:
    if node.task_id is not None and node.kind != SpanKind.TASK:
        yield "task", node.task_id
    yield "began", format_moment(node.started)
    yield from ((name.replace("_", " "), value) for name, value in node.facts.items() if value not in ("", None, []))


def _list_texts(name: str, value: JsonValue) -> Iterator[_Text]:
    """Yield the texts of content: each message of a list has its own."""
    if value in ("", None, [], {}):
        return
    if not isinstance(value, list) or not all(isinstance(item, dict) and "role" in item for item in value):
        yield _Text(_clean(name.replace("_", " ")), _clean(_write(value)))
        return
    for message in value:
        assert isinstance(message, dict)
        rest = {key: part for key, part in message.items() if key not in ("role", "text", "tool")}
        text = "\n".join(filter(None, (str(message.get("text", "")), _write(rest) if rest else "")))
        by = " ".join(str(message[key]) for key in ("role", "tool") if key in message)
        yield _Text(_clean(f"{name.replace('_', ' ')}: {by}"), _clean(text))


def _describe_note(note: TraceNote, began: float) -> _Text:
    content = "".join(f"\n{name}: {_write(value)}" for name, value in note.content.items())
    return _Text(
        _clean(f"{note.kind} at {format_seconds(max(0.0, note.time - began))}"), _clean(f"{note.text}{content}")
    )


def _draw_plans(rows: Sequence[tuple[TraceNode, _Row]]) -> Iterator[tuple[str, str, str, Sequence[str]]]:
    """Yield place, name, picture and plans of each run that has actions."""
    for node, row in rows:
        actions = [child for child in node.children if child.kind == SpanKind.ACTION]
        plans = [_clean(note.text) for note in node.notes if note.kind == "PlanMade"]
        if actions:
            yield row.place, row.name, to_svg(_draw_actions(actions), css_class="drawing"), plans


def _draw_actions(actions: Sequence[TraceNode]) -> Diagram:
    """Draw actions in the order in which they ran; the first of many."""
    shown = actions[:_MOST_DRAWN]
    nodes = [
        DiagramNode(f"a{place}", _describe_action(node), "box", _judge(_find_status(node)))
        for place, node in enumerate(shown)
    ]
    if len(shown) < len(actions):
        nodes.append(DiagramNode(f"a{len(shown)}", (f"and {len(actions) - len(shown):,} more",), "round"))
    outputs = [", ".join(map(str, out)) if isinstance(out := node.facts.get("outputs"), list) else "" for node in shown]
    edges = (
        DiagramEdge(before.id, after.id, _clean(label))
        for (before, after), label in zip(pairwise(nodes), outputs, strict=False)
    )
    return Diagram(tuple(nodes), tuple(edges))


def _find_status(node: TraceNode) -> str:
    """Return the status of a node. An action without a result says so, as it is no success."""
    is_empty = node.kind == SpanKind.ACTION and node.status == "completed" and node.facts.get("outputs") == []
    return _NOTHING if is_empty else node.status


def _describe_action(node: TraceNode) -> tuple[str, ...]:
    lines = (_clean(_name_node(node)), _describe_duration(node))
    return (*lines, _NOTHING) if _find_status(node) == _NOTHING else lines


def _describe_duration(node: TraceNode) -> str:
    return node.status if node.seconds is None else format_seconds(node.seconds)


def _judge(status: str) -> NodeStatus:
    return "done" if status == "completed" else "failed" if status in ("failed", "interrupted") else "next"


def _list_objects(node: TraceNode) -> list[tuple[str, str, str, bool]]:
    """Return type, name and value of each object on the blackboard of a run, and whether actions no longer see it."""
    board = node.content.get(BLACKBOARD)
    objects = [item for item in board if isinstance(item, dict)] if isinstance(board, list) else []
    return [
        (
            _clean(str(item.get("type", "")).rpartition(".")[2]),
            _clean(str(item.get("name", ""))),
            _clean(_write(item.get("value"))),
            bool(item.get("hidden")),
        )
        for item in objects
    ]


def _is_in_overview(node: TraceNode, row: _Row) -> bool:
    if node.kind in _OVERVIEW or not row.depth:
        return True
    return node.kind == SpanKind.RUN and any(child.kind in _OVERVIEW for child in node.children)


def _name_node(node: TraceNode) -> str:
    attempt = node.facts.get("attempt")
    return f"{node.name}, attempt {attempt}" if isinstance(attempt, int) and attempt > 1 else node.name


def _summarize(root: TraceNode) -> Mapping[str, str]:
    use = root.total_use
    facts = {
        "status": root.status,
        "began": format_moment(root.started),
        "duration": "" if root.seconds is None else format_seconds(root.seconds),
        "tokens": format_tokens(use) if use.requests else "",
        "cost": format_cost(use) if use.requests else "",
        "run": root.run_id,
        "error": root.error or "",
    }
    return {name: _clean(fact) for name, fact in facts.items() if fact}


def _describe_use(use: ModelUse) -> Sequence[str]:
    tokens = (format_tokens(use, part) for part in (use.input_tokens, use.output_tokens))
    return [_clean(use.model or "all models"), f"{use.requests:,}", *tokens, format_cost(use)]


def _find_end(node: TraceNode) -> float:
    return max(node.started if node.ended is None else node.ended, *(note.time for note in node.notes), node.started)


def _write(value: JsonValue) -> str:
    """Return a value as people read it: texts as they are, a list of texts on lines, and anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, indent=1)


def _clean(text: str) -> str:
    """Return a text that cannot disguise itself, as bidirectional overrides would let it."""
    return escape_controls(text)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((_FOLDER / "page.html").read_text(encoding="utf-8"))
