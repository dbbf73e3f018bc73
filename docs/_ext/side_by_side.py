"""Two programs beside each other: the directive `side-by-side`, which names the first of them."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

OURS = "Tactician"


class SideBySide(SphinxDirective):
    """Directive that puts two blocks of code into columns, which are stacked on a narrow screen."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a container with a captioned column for each block."""
        blocks = self.parse_content_to_nodes()
        if len(blocks) != 2 or not all(isinstance(block, nodes.literal_block) for block in blocks):
            raise self.error("side-by-side has to contain two blocks of code and nothing else")
        captions = (self.arguments[0], OURS)
        columns = [_make_column(caption, block) for caption, block in zip(captions, blocks, strict=True)]
        return [nodes.container("", *columns, classes=["side-by-side"])]


def _make_column(caption: str, block: nodes.Node) -> nodes.container:
    title = nodes.paragraph("", caption, classes=["side-title"])
    return nodes.container("", title, block, classes=["side"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("side-by-side", SideBySide)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
