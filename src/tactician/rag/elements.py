"""Content of a library: documents, their sections, and the chunks that searches find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from typing import Final, TypeAlias

from tactician.frozen import frozen

MetadataValue: TypeAlias = str | int | float | bool | Sequence[str | int | float | bool]
Metadata: TypeAlias = Mapping[str, MetadataValue]
"""Facts about a document, such as its language or who may read it, which searches are filtered by."""

_ID_LENGTH: Final = 12


@frozen(kw_only=True)
class ContentElement:
    """Part of a library: a document, a section of it, or a chunk.

    Attributes:
        id: the id, which is the same after the document was read again.
        uri: the address of the document.
        path: the titles from the document to the element.
        parent_id: the id of the element around it; `None` for a document.
    """

    id: str
    uri: str
    path: tuple[str, ...]
    parent_id: str | None = None

    @property
    def title(self) -> str:
        """Title of the element, or of the section that a chunk is from."""
        return self.path[-1]


@frozen(kw_only=True)
class LeafSection(ContentElement):
    """Section with text."""

    text: str = field(repr=False)

    @property
    def full_text(self) -> str:
        """The title and the text, as Markdown."""
        return f"{_format_heading(self)}\n\n{self.text}".strip()


@frozen(kw_only=True)
class ContainerSection(ContentElement):
    """Section with sections in it."""

    sections: tuple[Section, ...] = field(repr=False)

    @property
    def full_text(self) -> str:
        """The title and the texts of all sections in it, as Markdown."""
        return "\n\n".join((_format_heading(self), *_join_sections(self.sections, self.title)))


Section: TypeAlias = LeafSection | ContainerSection


@frozen(kw_only=True)
class ContentRoot(ContentElement):
    """Document. Its title is the only name in its path.

    Attributes:
        sections: the sections.
        metadata: facts about the document and its chunks.
    """

    sections: tuple[Section, ...] = field(default=(), repr=False)
    metadata: Metadata = field(default_factory=dict)

    @property
    def full_text(self) -> str:
        """The title and the texts of all sections, as Markdown."""
        return "\n\n".join((f"# {self.title}", *_join_sections(self.sections, self.title)))

    @property
    def leaves(self) -> tuple[LeafSection, ...]:
        """All sections with text, in order."""
        return tuple(section for section in self.walk() if isinstance(section, LeafSection))

    def walk(self) -> Iterator[Section]:
        """Yield all sections: each before those in it."""
        return _walk(self.sections)


@frozen(kw_only=True)
class Chunk(ContentElement):
    """Piece of a section, in the size for searches.

    Attributes:
        text: the text, which begins with the titles if the chunking says so.
        position: the number of the chunk in its document, from 0.
        metadata: facts about the document.
    """

    text: str = field(repr=False)
    position: int = 0
    metadata: Metadata = field(default_factory=dict)


def create_document_id(uri: str) -> str:
    """Return the id of the document at an address."""
    return sha256(uri.encode(errors="replace")).hexdigest()[:_ID_LENGTH]


def _walk(sections: tuple[Section, ...]) -> Iterator[Section]:
    for section in sections:
        yield section
        if isinstance(section, ContainerSection):
            yield from _walk(section.sections)


def _join_sections(sections: tuple[Section, ...], title: str) -> Iterator[str]:
    """Yield the texts of sections. Text before the first heading of a section has the title of the section itself."""
    for section in sections:
        is_introduction = isinstance(section, LeafSection) and section.title == title
        yield section.text if is_introduction and isinstance(section, LeafSection) else section.full_text


def _format_heading(element: ContentElement) -> str:
    return f"{'#' * min(6, len(element.path))} {element.title}"
