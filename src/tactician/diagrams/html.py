"""Cards for notebooks: a title, facts, and a diagram, as HTML without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from tactician.diagrams.diagram import Diagram
from tactician.diagrams.mermaid import to_mermaid

_LONGEST_TEXT = 20_000


def render_card(
    title: str, facts: Mapping[str, str], diagram: Diagram | None = None, details: Mapping[str, str] | None = None
) -> str:
    """Return a card as HTML. All texts are escaped, and what is longer than 20,000 characters is cut.

    Args:
        title: the first line.
        facts: what is listed below it; empty values are left out.
        diagram: what is drawn below that.
        details: longer texts, which are folded, by their labels.
    """
    rows = "".join(
        f'<tr><td style="text-align:left;color:#868e96;vertical-align:top">{escape(label)}</td>'
        f'<td style="text-align:left;white-space:pre-wrap">{_cut(text)}</td></tr>'
        for label, text in facts.items()
        if text
    )
    folded = "".join(
        f'<details><summary>{escape(label)}</summary><pre style="white-space:pre-wrap">{_cut(text)}</pre></details>'
        for label, text in (details or {}).items()
        if text
    )
    drawn = "" if diagram is None else f"<div>{_draw(diagram)}</div>"
    table = f"<table>{rows}</table>" if rows else ""
    return f"<div><div><b>{escape(title)}</b></div>{table}{drawn}{folded}</div>"


def render_mimebundle(
    plain: str,
    title: str,
    facts: Mapping[str, str],
    diagram: Diagram | None = None,
    details: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return what a notebook shows of an object: plain text, a card, and the diagram as Mermaid."""
    bundle = {"text/plain": plain, "text/html": render_card(title, facts, diagram, details)}
    if diagram is not None:
        bundle["text/vnd.mermaid"] = to_mermaid(diagram)
    return bundle


def _draw(diagram: Diagram) -> str:
    from tactician.diagrams.svg import to_svg  # few programs draw

    return to_svg(diagram)


def _cut(text: str) -> str:
    return escape(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text):,} characters)")
