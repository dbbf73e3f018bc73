"""Knowledge that agents look up: documents, in libraries that are searched by words, by meaning or by patterns."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.rag.chunk_store import ChunkStore as ChunkStore
    from tactician.rag.chunk_store import DocumentRecord as DocumentRecord
    from tactician.rag.chunk_store import RankedChunk as RankedChunk
    from tactician.rag.chunk_store import StoreStatistics as StoreStatistics
    from tactician.rag.chunk_store import TextToEmbed as TextToEmbed
    from tactician.rag.chunking import Chunking as Chunking
    from tactician.rag.chunking import split_document as split_document
    from tactician.rag.citation_check import CitationCheck as CitationCheck
    from tactician.rag.citations import Citation as Citation
    from tactician.rag.citations import CitedText as CitedText
    from tactician.rag.citations import find_citations as find_citations
    from tactician.rag.citations import format_citation as format_citation
    from tactician.rag.elements import Chunk as Chunk
    from tactician.rag.elements import ContainerSection as ContainerSection
    from tactician.rag.elements import ContentElement as ContentElement
    from tactician.rag.elements import ContentRoot as ContentRoot
    from tactician.rag.elements import LeafSection as LeafSection
    from tactician.rag.elements import Section as Section
    from tactician.rag.errors import UnreadableDocumentError as UnreadableDocumentError
    from tactician.rag.filters import Condition as Condition
    from tactician.rag.filters import Filter as Filter
    from tactician.rag.filters import Where as Where
    from tactician.rag.folder import FolderLibrary as FolderLibrary
    from tactician.rag.hints import HypotheticalDocument as HypotheticalDocument
    from tactician.rag.ingestion import IngestionFailure as IngestionFailure
    from tactician.rag.ingestion import IngestionProgress as IngestionProgress
    from tactician.rag.ingestion import IngestionReport as IngestionReport
    from tactician.rag.ingestion import RefreshPolicy as RefreshPolicy
    from tactician.rag.library import Library as Library
    from tactician.rag.library import VectorLibrary as VectorLibrary
    from tactician.rag.operations import ChunkHit as ChunkHit
    from tactician.rag.operations import HybridSearch as HybridSearch
    from tactician.rag.operations import RegexSearch as RegexSearch
    from tactician.rag.operations import ResultExpansion as ResultExpansion
    from tactician.rag.operations import SearchMethod as SearchMethod
    from tactician.rag.operations import SearchQueryError as SearchQueryError
    from tactician.rag.operations import SearchResults as SearchResults
    from tactician.rag.operations import TextSearch as TextSearch
    from tactician.rag.operations import VectorSearch as VectorSearch
    from tactician.rag.outline import parse_markdown as parse_markdown
    from tactician.rag.parser_process import ParserLimits as ParserLimits
    from tactician.rag.postgres_store import PostgresChunkStore as PostgresChunkStore
    from tactician.rag.rag_tools import RagSearch as RagSearch
    from tactician.rag.rag_tools import RagTools as RagTools
    from tactician.rag.rag_tools import ScopeFunction as ScopeFunction
    from tactician.rag.reranking import ModelReranker as ModelReranker
    from tactician.rag.reranking import Reranker as Reranker
    from tactician.rag.retrieved_chunks import RetrievedChunks as RetrievedChunks
    from tactician.rag.sqlite_store import SqliteChunkStore as SqliteChunkStore
    from tactician.rag.wordllama_embedder import WordLlamaEmbedder as WordLlamaEmbedder
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.rag.chunk_store": "ChunkStore DocumentRecord RankedChunk StoreStatistics TextToEmbed",
            "tactician.rag.chunking": "Chunking split_document",
            "tactician.rag.citation_check": "CitationCheck",
            "tactician.rag.citations": "Citation CitedText find_citations format_citation",
            "tactician.rag.elements": "Chunk ContainerSection ContentElement ContentRoot LeafSection Section",
            "tactician.rag.errors": "UnreadableDocumentError",
            "tactician.rag.filters": "Condition Filter Where",
            "tactician.rag.folder": "FolderLibrary",
            "tactician.rag.hints": "HypotheticalDocument",
            "tactician.rag.ingestion": "IngestionFailure IngestionProgress IngestionReport RefreshPolicy",
            "tactician.rag.library": "Library VectorLibrary",
            "tactician.rag.operations": (
                "ChunkHit HybridSearch RegexSearch ResultExpansion SearchMethod SearchQueryError SearchResults "
                "TextSearch VectorSearch"
            ),
            "tactician.rag.outline": "parse_markdown",
            "tactician.rag.parser_process": "ParserLimits",
            "tactician.rag.postgres_store": "PostgresChunkStore",
            "tactician.rag.rag_tools": "RagSearch RagTools ScopeFunction",
            "tactician.rag.reranking": "ModelReranker Reranker",
            "tactician.rag.retrieved_chunks": "RetrievedChunks",
            "tactician.rag.sqlite_store": "SqliteChunkStore",
            "tactician.rag.wordllama_embedder": "WordLlamaEmbedder",
        },
    )
