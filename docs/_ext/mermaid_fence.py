"""Mermaid fences, drawn in the browser by the copy of Mermaid beside the pages: the site needs no network."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SCRIPTS = ("mermaid.min.js", "draw_mermaid.js")


class Mermaid(SphinxDirective):
    """Directive that keeps the text of a diagram for the browser."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the diagram as a block that `draw_mermaid.js` finds."""
        text = nodes.Text("\n".join(self.content)).astext()
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return [nodes.raw("", f'<pre class="mermaid">{escaped}</pre>', format="html", classes=["diagram"])]


def add_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, object], doctree: nodes.document | None
) -> None:
    """Load Mermaid on the pages that have a diagram, and only there."""
    if doctree is not None and any("diagram" in node["classes"] for node in doctree.findall(nodes.raw)):
        for script in SCRIPTS:
            app.add_js_file(script)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("mermaid", Mermaid)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
