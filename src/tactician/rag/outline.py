"""Documents from Markdown: sections by headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Final, NamedTuple
from urllib.parse import unquote

from tactician.documents.data import DocumentLimits
from tactician.documents.document import read_document
from tactician.errors import DocumentError
from tactician.rag.deadlines import check_deadline
from tactician.rag.elements import (
    ContainerSection,
    ContentRoot,
    LeafSection,
    Metadata,
    MetadataValue,
    Section,
    create_document_id,
)
from tactician.text import replace_surrogates

_LIMITS: Final = DocumentLimits(size=20_000, depth=8, values=1_000)
_LINE: Final = "---"
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LINK_TITLE: Final = r"""(?:[ \t]{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?"""
_MARKUP: Final = re.compile(
    rf"!?\[([^\]\[]{{0,300}})\]\([^()\s]{{0,2000}}{_LINK_TITLE}\)|\{{#[\w-]{{1,100}}\}}|[*`\u00b6]+"
)
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_PERMALINK: Final = "\u00b6"
_LONGEST_TITLE: Final = 200
_LINES_AT_ONCE: Final = 10_000
_NO_TEXT_LINE: Final = re.compile(r"\s{0,3}([-*+>|#]|\d+[.)])")


def split_front_matter(text: str) -> tuple[Metadata, str]:
    """Return the facts before a text, and the text without them. What is no mapping in YAML is text.

    Of the facts, those that filters can compare are kept: texts, numbers, truth values, and lists of them.
    """
    first, _, following = text.removeprefix("\ufeff")[: _LIMITS.size].partition("\n")
    if first.rstrip() != _LINE:
        return {}, text
    lines = following.split("\n")
    end = next((number for number, line in enumerate(lines) if line.rstrip() in (_LINE, "...")), None)
    if end is None:
        return {}, text
    try:
        data = read_document("\n".join(lines[:end]), "yaml", _LIMITS).data
    except DocumentError:
        return {}, text
    if not isinstance(data, Mapping):
        return {}, text
    length = len(first) + 1 + sum(len(line) + 1 for line in lines[: end + 1])
    facts = {str(name): fact for name, value in data.items() if (fact := _read_fact(value)) is not None}
    return facts, text.removeprefix("\ufeff")[length:]


def _read_fact(value: object) -> MetadataValue | None:
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and value and all(isinstance(each, str | int | float | bool) for each in value):
        return [each for each in value if isinstance(each, str | int | float | bool)]
    return None


class _Part(NamedTuple):
    """Heading with the text under it. Text before the first heading has the level 0."""

    level: int
    title: str
    text: str


class _Node:
    def __init__(self, part: _Part) -> None:
        self.part = part
        self.inner: list[_Node] = []


def parse_markdown(text: str, uri: str, title: str | None = None, metadata: Metadata | None = None) -> ContentRoot:
    """Return the document in a Markdown text.

    Args:
        text: the text.
        uri: the address of the document.
        title: the title; by default from the front matter, the only heading of the first level, or the end of the
            address.
        metadata: facts about the document, which replace facts of the front matter.
    """
    facts, body = split_front_matter(text)
    named = facts.get("title")
    facts = {name: fact for name, fact in facts.items() if name != "title"}
    chosen = title or (named if isinstance(named, str) else None)
    return build_outline(body, uri, chosen, {**facts, **(metadata or {})})


def build_outline(text: str, uri: str, title: str | None, metadata: Metadata, *, shorten: bool = False) -> ContentRoot:
    """Return the document in a Markdown text without front matter; see `parse_markdown`.

    Args:
        text: the text.
        uri: the address.
        title: the title, if it has one beside its headings.
        metadata: facts about the document.
        shorten: true for titles with the name of a site in them: the first heading is the title if that has it.
    """
    parts = [part for part in _split_parts(replace_surrogates(text).replace("\0", "")) if part.level or part.text]
    title = _clean_title(title or "")
    place = _find_title(parts)
    if place is not None and parts[place].title in (title or parts[place].title):
        title = parts[place].title if shorten or not title else title
        parts[place : place + 1] = [_Part(0, "", parts[place].text)] if parts[place].text else []
    return _build_root(parts, uri, title or name_document(uri), metadata)


def _find_title(parts: list[_Part]) -> int | None:
    """Return the place of the only heading of the first level if it is the first of all headings."""
    top = [number for number, part in enumerate(parts) if part.level == 1]
    return top[0] if len(top) == 1 and not any(part.level for part in parts[: top[0]]) else None


def name_document(uri: str) -> str:
    """Return a title for the document at an address that has none: the last part of the address."""
    parts = [part for part in re.split(r"[/\\]", uri.partition("?")[0].partition("#")[0]) if part]
    name = parts[-1] if parts else uri
    return (unquote(name) if uri.startswith(("file:", "http:", "https:")) else name)[:_LONGEST_TITLE]


def _build_root(parts: list[_Part], uri: str, title: str, metadata: Metadata) -> ContentRoot:
    root = create_document_id(uri)
    numbers = iter(range(len(parts) * 2 + 1))
    sections = tuple(_build(node, root, (title,), uri, numbers, root) for node in _nest(parts))
    return ContentRoot(id=root, uri=uri, path=(title,), sections=sections, metadata=metadata)


def _build(node: _Node, root: str, path: tuple[str, ...], uri: str, numbers: Iterator[int], parent: str) -> Section:
    section_id = f"{root}.s{next(numbers)}"
    inner_path = (*path, node.part.title or path[-1])
    text = node.part.text
    if not node.inner:
        return LeafSection(id=section_id, uri=uri, path=inner_path, parent_id=parent, text=text)
    sections: list[Section] = []
    if text:
        introduction = f"{root}.s{next(numbers)}"
        sections.append(
            LeafSection(id=introduction, uri=uri, path=(*inner_path, inner_path[-1]), parent_id=section_id, text=text)
        )
    sections += [_build(child, root, inner_path, uri, numbers, section_id) for child in node.inner]
    return ContainerSection(id=section_id, uri=uri, path=inner_path, parent_id=parent, sections=tuple(sections))


def _nest(parts: list[_Part]) -> list[_Node]:
    """Return the parts of the highest level, with the others inside of them."""
    top: list[_Node] = []
    open_nodes: list[_Node] = []
    for part in parts:
        node = _Node(part)
        while open_nodes and open_nodes[-1].part.level >= part.level:
            open_nodes.pop()
        (open_nodes[-1].inner if open_nodes else top).append(node)
        if part.level:
            open_nodes.append(node)
    return top


def _split_parts(text: str) -> Iterator[_Part]:
    level, title = 0, ""
    lines: list[str] = []
    for new_level, new_title, line in _classify_lines(text):
        if new_level == 0:
            lines.append(line)
            continue
        yield _Part(level, title, "\n".join(lines).strip())
        level, title, lines = new_level, new_title, []
    yield _Part(level, title, "\n".join(lines).strip())


def _classify_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the level of the heading that a line is, with its title; or 0, with the line."""
    fence = ""
    lines = text.splitlines()
    skipped = False
    for number, line in enumerate(lines):
        if number % _LINES_AT_ONCE == 0:
            check_deadline()
        if skipped:
            skipped = False
            continue
        if (match := _FENCE.fullmatch(line)) is not None and _changes_fence(match, fence):
            fence = "" if fence else match[1]
        elif (
            not fence and (match := _HEADING.match(line)) is not None and (title := _read_heading(line[match.end() :]))
        ):
            yield len(match[1]), title, line
            continue
        elif not fence and _is_underlined(lines, number):
            skipped = True
            yield (1 if "=" in lines[number + 1] else 2), _clean_title(line), line
            continue
        yield 0, "", line


def _changes_fence(match: re.Match[str], fence: str) -> bool:
    """Return whether a line opens a block of code, or closes the open one."""
    return not fence or (match[1].startswith(fence) and not match[2].strip())


def _is_underlined(lines: list[str], number: int) -> bool:
    """Return whether a line is a heading because of the line under it."""
    line = lines[number]
    has_line = number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]) is not None
    is_alone = number == 0 or not lines[number - 1].strip()
    return bool(has_line and is_alone and line.strip() and not _NO_TEXT_LINE.match(line) and _clean_title(line))


def _read_heading(text: str) -> str:
    """Return the title in a heading, without the signs that may close it."""
    stripped = text.strip(" \t")
    opened = stripped.rstrip("#")
    return _clean_title(opened if not opened or opened[-1] in " \t" else stripped)


def _clean_title(text: str) -> str:
    """Return a title without markup and entities."""
    plain = unescape(_MARKUP.sub(lambda match: match[1] or "", text[:2_000]))
    return " ".join(_ESCAPE.sub(r"\1", plain.removesuffix(_PERMALINK)).split())[:_LONGEST_TITLE]
