"""Rows of documents, sections and chunks in the tables of a database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from tactician.rag.chunk_store import DocumentRecord
from tactician.rag.elements import (
    Chunk,
    ContainerSection,
    ContentRoot,
    LeafSection,
    Metadata,
    Section,
    create_document_id,
)
from tactician.rag.library_connection import ChunkToWrite

CHUNK_COLUMNS: Final = (
    "d.key, c.position, c.section, c.path, c.text, d.uri, d.metadata "
    "FROM library_chunks c JOIN library_documents d ON d.id = c.document"
)
SECTION_COLUMNS: Final = (
    "s.key, s.parent, s.path, s.text, d.uri FROM library_sections s JOIN library_documents d ON d.id = s.document"
)
RECORD_COLUMNS: Final = "uri, title, fingerprint, chunks, ingested_at, metadata FROM library_documents"


class ChunkRow(NamedTuple):
    """Row of `CHUNK_COLUMNS`."""

    document: str
    position: int
    section: str
    path: str
    text: str
    uri: str
    metadata: str


class SectionRow(NamedTuple):
    """Row of `SECTION_COLUMNS`. `text` is `None` for a section with sections in it."""

    key: str
    parent: str
    path: str
    text: str | None
    uri: str


class RecordRow(NamedTuple):
    """Row of `RECORD_COLUMNS`."""

    uri: str
    title: str
    fingerprint: str
    chunks: int
    ingested_at: float
    metadata: str


def hash_text(text: str) -> bytes:
    """Return the hash by which the vector of a text is kept."""
    return blake2b(text.encode(errors="replace"), digest_size=16).digest()


def create_section_rows(root: ContentRoot, document: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the sections of a document."""
    for position, section in enumerate(root.walk()):
        text = section.text if isinstance(section, LeafSection) else None
        yield section.id, document, position, section.parent_id or root.id, _pack(section.path), text


def create_chunk_rows(chunks: Sequence[Chunk], document: int) -> Iterator[ChunkToWrite]:
    """Yield the rows of the chunks of a document."""
    for chunk in chunks:
        path, digest = _pack(chunk.path), hash_text(chunk.text)
        yield ChunkToWrite(document, chunk.position, chunk.parent_id, path, chunk.text, digest)


def parse_chunk(row: ChunkRow) -> Chunk:
    """Return the chunk in a row."""
    return Chunk(
        id=format_chunk_id(row.document, row.position),
        uri=row.uri,
        path=_unpack(row.path),
        parent_id=row.section,
        text=row.text,
        position=row.position,
        metadata=parse_metadata(row.metadata),
    )


def parse_record(row: RecordRow) -> DocumentRecord:
    """Return the entry of a document in a row."""
    return DocumentRecord(
        uri=row.uri,
        title=row.title,
        fingerprint=row.fingerprint,
        chunks=row.chunks,
        ingested_at=row.ingested_at,
        metadata=parse_metadata(row.metadata),
    )


def parse_metadata(text: object) -> Metadata:
    """Return metadata from its stored form."""
    metadata: dict[str, str] = json.loads(str(text))
    return metadata


def build_element(rows: Sequence[SectionRow], key: str, record: DocumentRecord) -> Section | ContentRoot | None:
    """Return a document or a section of it, with all that is in it, from the rows of the document's sections."""
    inside: dict[str, list[SectionRow]] = {}
    for row in rows:
        inside.setdefault(row.parent, []).append(row)

    def build(row: SectionRow) -> Section:
        path = _unpack(row.path)
        if row.text is not None:
            return LeafSection(id=row.key, uri=row.uri, path=path, parent_id=row.parent, text=row.text)
        sections = tuple(map(build, inside.get(row.key, ())))
        return ContainerSection(id=row.key, uri=row.uri, path=path, parent_id=row.parent, sections=sections)

    if key == create_document_id(record.uri):
        sections = tuple(map(build, inside.get(key, ())))
        return ContentRoot(id=key, uri=record.uri, path=(record.title,), sections=sections, metadata=record.metadata)
    return next((build(row) for row in rows if row.key == key), None)


def format_chunk_id(document: str, position: int) -> str:
    """Return the id of a chunk."""
    return f"{document}.{position}"


def split_chunk_id(id: str) -> tuple[str, int] | None:
    """Return the document and the position of a chunk; `None` when the id is not one of a chunk."""
    document, dot, position = id.partition(".")
    is_chunk = dot and position.isascii() and position.isdecimal() and len(position) < 10
    return (document, int(position)) if is_chunk else None


def _pack(path: Sequence[str]) -> str:
    return json.dumps(path, ensure_ascii=False)


def _unpack(path: object) -> tuple[str, ...]:
    return tuple(json.loads(str(path)))
