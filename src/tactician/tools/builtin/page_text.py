"""Readable text of HTML: what a browser shows of the content, as simple Markdown.

The scan is linear in the length of the page, whatever is in it. Python's own parser is not: a page of two megabytes
can keep it busy for minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple
from urllib.parse import urljoin

_NAME: Final = re.compile(r"/?[a-zA-Z][^\s/>]*")
_LINK: Final = re.compile(r"""\shref\s*=\s*(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'>]{1,2000}))""", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
_RAW: Final = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}
_HIDDEN: Final = {"head", "nav", "footer", "aside", "noscript", "template", "svg", "form", "button", "select", "dialog"}
_BLOCKS: Final = {
    *("p", "div", "section", "article", "main", "header", "table", "ul", "ol", "dl", "blockquote", "figure", "hr"),
    *("pre", "address", "fieldset", "details", "summary", "figcaption", "body", "html"),
}
_CONTENT: Final = {"body", "main", "article"}
_LINES: Final = {"br", "tr", "dt", "dd", "li", "option"}
_HEADINGS: Final = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
_MAX_TAG: Final = 10_000


class _Tag(NamedTuple):
    name: str
    is_end: bool
    source: str


def extract_title(html: str) -> str:
    """Return the title of a page; empty, when it has none."""
    return next((_tidy(text) for tag, text in _scan(html) if tag is not None and tag.name == "title" and text), "")


def extract_text(html: str, url: str = "") -> str:
    """Return the readable text of a page: without scripts, styles, navigation and forms.

    Args:
        html: the page.
        url: its address, which relative links are completed with.
    """
    writer = _Writer(url)
    for tag, text in _scan(html):
        if tag is not None:
            writer.add_tag(tag)
        elif text:
            writer.add_text(text)
    return writer.finish()


def _scan(html: str) -> Iterator[tuple[_Tag | None, str]]:
    """Yield tags, with their content where that is not HTML, and the text between tags."""
    place, size = 0, len(html)
    while place < size:
        start = html.find("<", place)
        if start < 0:
            start = size
        if start > place:
            yield None, html[place:start]
        if start == size:
            return
        if html.startswith("<!--", start):
            place = _find(html, "-->", start + 4)
        elif html.startswith(("<!", "<?"), start):
            place = _find(html, ">", start)
        elif (name := _NAME.match(html, start + 1, start + 100)) is None:
            yield None, "<"
            place = start + 1
        else:
            place = _find_tag_end(html, name.end())
            tag = _Tag(name[0].strip("/").lower(), name[0][0] == "/", html[start:place][:_MAX_TAG])
            if tag.name in _RAW and not tag.is_end:
                end = _find_raw_end(html, tag.name, place)
                yield tag, html[place:end]
                place = end
            else:
                yield tag, ""


def _find(html: str, end: str, place: int) -> int:
    """Return the place behind the next occurrence of a text; or the end of the page."""
    position = html.find(end, place)
    return len(html) if position < 0 else position + len(end)


_TAG_REST: Final = re.compile(r"""[^>"']*(?:"[^"]{0,10000}"|'[^']{0,10000}')?""")


def _find_tag_end(html: str, place: int) -> int:
    """Return the place behind a tag. Quoted values may have `>` in them."""
    for _ in range(200):
        match = _TAG_REST.match(html, place)
        assert match is not None
        place = match.end()
        if place >= len(html):
            return len(html)
        if html[place] == ">":
            return place + 1
        if html[place] in "\"'" and match[0][-1:] not in ("'", '"'):  # a quote without an end
            break
    return _find(html, ">", place)


def _find_raw_end(html: str, name: str, place: int) -> int:
    match = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, place)
    return len(html) if match is None else match.start()


class _Writer:
    """Text that grows with the tags and texts of a page."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._parts: list[str] = []
        self._hidden: list[str] = []
        self._link: tuple[str, int] | None = None
        self._preformatted = 0

    def add_tag(self, tag: _Tag) -> None:
        if tag.name in _CONTENT and not tag.is_end:
            self._hidden.clear()  # something before it has no end tag
        if tag.name in _HIDDEN:
            self._hide(tag)
        elif self._hidden or tag.name in _RAW:
            return
        elif tag.name == "a":
            self._write_link(tag)
        elif tag.name in _HEADINGS:
            self._parts.append("\n\n" if tag.is_end else f"\n\n{_HEADINGS[tag.name]}")
        elif tag.name in _BLOCKS:
            self._parts.append("\n\n")
            if tag.name == "pre":
                self._preformatted = max(0, self._preformatted + (-1 if tag.is_end else 1))
        elif tag.name in _LINES and not tag.is_end:
            self._parts.append("\n- " if tag.name == "li" else "\n")
        elif tag.name in ("td", "th") and tag.is_end:
            self._parts.append(" | ")

    def add_text(self, text: str) -> None:
        if not self._hidden:
            shown = unescape(text)
            self._parts.append(shown if self._preformatted else _SPACE.sub(" ", shown))

    def finish(self) -> str:
        return _tidy_lines("".join(self._parts))

    def _hide(self, tag: _Tag) -> None:
        """Begin or end a part that is not shown. An end without a beginning counts for nothing."""
        if not tag.is_end:
            if not tag.source.endswith("/>") and len(self._hidden) < 1_000:
                self._hidden.append(tag.name)
        elif tag.name in self._hidden[-50:]:
            while self._hidden and self._hidden.pop() != tag.name:
                pass

    def _write_link(self, tag: _Tag) -> None:
        if self._link is not None:
            target, start = self._link
            text = _SPACE.sub(" ", "".join(self._parts[start:])).strip()
            self._parts[start:] = [f"[{text}]({target})"] if text else []
            self._link = None
        if not tag.is_end and (match := _LINK.search(tag.source)) is not None:
            target = _complete(self._url, unescape(match[1] or match[2] or match[3] or ""))
            if target:
                self._link = target, len(self._parts)


def _complete(base: str, target: str) -> str:
    """Return the address of a link; empty, when it leads nowhere else."""
    try:
        joined = urljoin(base, target.strip())
    except ValueError:
        return ""
    return joined if joined.startswith(("http://", "https://")) and not target.startswith("#") else ""


def _tidy(text: str) -> str:
    return _SPACE.sub(" ", unescape(text)).strip()


def _tidy_lines(text: str) -> str:
    """Return the text without spaces at the ends of lines, and with at most one empty line between others."""
    lines: list[str] = []
    for line in (line.rstrip().removesuffix(" |") for line in text.splitlines()):
        shown = line if line.startswith("    ") else line.strip()
        shown = "" if shown == "-" else shown
        if shown or (lines and lines[-1]):
            lines.append(shown)
    return "\n".join(lines).strip()
