"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fence in a page; `number` counts those of its language in the page from 1."""

    page: str
    language: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}#{self.language}-{self.number}"


def list_pages() -> list[Path]:
    """Return the files of all pages, the README first."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def list_blocks(language: str, page: str = "") -> list[Block]:
    """Return the blocks of a language, in all pages or in one."""
    files = [ROOT / page] if page else list_pages()
    return [block for file in files for block in _blocks_of(file, language)]


def _blocks_of(file: Path, language: str) -> list[Block]:
    texts = [text for found, text in _BLOCK.findall(file.read_text("utf-8")) if found == language]
    page = file.relative_to(ROOT).as_posix()
    return [Block(page, language, number, text) for number, text in enumerate(texts, start=1)]


def promised_outputs(block: Block) -> list[str]:
    """Return the texts that a program says it prints: comments behind a `print(...)`, and on the lines below it.

    Three dots stand for anything, so a comment with dots is several texts.
    """
    texts: list[str] = []
    printing = False
    for line in block.text.splitlines():
        behind = re.search(r"\bprint\(.*\)\s+# (.*)$", line)
        below = re.match(r"\s*# (.*)$", line) if printing else None
        texts += [found[1] for found in (behind, below) if found]
        printing = bool(below) or "print(" in line
    return [" ".join(part.split()) for text in texts for part in text.split("...") if part.strip()]
