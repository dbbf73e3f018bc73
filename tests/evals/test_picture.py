"""The picture of the how-to about prompts shows what its program prints."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def list_words(picture: str) -> list[str]:
    """Return the words of an SVG, without measured seconds, which differ each time."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    words = " ".join(texts).replace("&#160;", " ").split()
    return [word for word in words if not re.search(r"\d\.\d|\de-|^[│┃┏┡└━─]", word)]


def test_the_picture_of_a_comparison_is_up_to_date_and_loads_nothing() -> None:
    stored = (DOCS / "new-prompt.svg").read_text("utf-8")
    draw = runpy.run_path(str(DOCS / "_ext" / "draw_report.py"))["draw"]
    assert list_words(draw()) == list_words(stored), "run: python docs/_ext/draw_report.py"
    assert "beyond" in list_words(stored)
    assert "url(http" not in stored.replace('"', "").replace("'", "")
