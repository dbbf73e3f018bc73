"""Check that the built site needs no network."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

LOADED = re.compile(
    r"""<(?:script|img|iframe)\b[^>]*\bsrc=["'](?:https?:)?//[^"']+|<link\b[^>]*\bhref=["'](?:https?:)?//[^"']+"""
    r"""|url\(["']?(?:https?:)?//[^)]+|@import ["'](?:https?:)?//[^"']+"""
)


def find_network_use(folder: Path) -> list[str]:
    """Return what the pages and style sheets in a folder would load from the network, with the file."""
    files = [file for ending in ("*.html", "*.css") for file in sorted(folder.rglob(ending))]
    return [f"{file.name}: {found}" for file in files for found in LOADED.findall(file.read_text("utf-8"))]


def check_offline(app: Sphinx, exception: Exception | None) -> None:
    """Fail the build when a page would load something from the network."""
    if exception is None and app.builder.format == "html" and (found := find_network_use(Path(app.outdir))):
        raise ExtensionError("The site would load from the network:\n" + "\n".join(found[:20]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the check."""
    app.connect("build-finished", check_offline)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
