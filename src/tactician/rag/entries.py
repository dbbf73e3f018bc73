"""Libraries as entries of files: `RagTools` as data, with the place of the library and the scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from tactician.errors import ConfigurationError
from tactician.names import find_import_path
from tactician.prompts import LlmReference
from tactician.prompts.contributor_adapters import as_contributor
from tactician.rag.chunking import DEFAULT_CHUNKING, Chunking
from tactician.rag.elements import MetadataValue
from tactician.rag.embedding import Embedder
from tactician.rag.filters import Filter
from tactician.rag.folder import FolderLibrary
from tactician.rag.hints import HypotheticalDocument
from tactician.rag.library import VECTOR_WEIGHT, Library, VectorLibrary
from tactician.rag.operations import VectorSearch
from tactician.rag.postgres_store import PostgresChunkStore
from tactician.rag.rag_tools import RagTools, ScopeFunction, SearchableLibrary
from tactician.rag.sqlite_store import SqliteChunkStore
from tactician.rag.wordllama_embedder import WordLlamaEmbedder
from tactician.references.entry_fields import EntryObject, EntryPath
from tactician.references.late_kinds import LATE_KINDS, LateKind, WritePath

_PLACES = "path, url, folder or library"
_OFFLINE = "wordllama"
_Scope: TypeAlias = Filter | ScopeFunction | None


def create_rag_tools(
    name: str,
    description: str,
    path: EntryPath | None = None,
    url: str | None = None,
    folder: EntryPath | None = None,
    library: EntryObject = None,
    embedder: str | None = None,
    chunking: Chunking = DEFAULT_CHUNKING,
    scope: EntryObject = None,
    cites: bool = True,
    max_chars: int = 20_000,
    vector_weight: float = VECTOR_WEIGHT,
) -> RagTools:
    """Return the reference of an entry.

    Args:
        name: the name.
        description: what the library is about.
        path: the SQLite file of a library.
        url: the PostgreSQL database of a library.
        folder: a folder of text files.
        library: a library of the program, or the function that returns it.
        embedder: the name of an embedding model, or `wordllama`; none by default.
        chunking: the sizes of chunks.
        scope: a filter on metadata, or a function of the program that returns one for a run.
        cites: whether answers should have citations.
        max_chars: characters of the result of a tool.
        vector_weight: the weight of vectors in a hybrid search, from 0 to 1.

    Raises:
        ConfigurationError: when there is no such library.
        ValueError: when the scope is neither a filter nor a function.
    """
    if sum(place is not None for place in (path, url, folder, library)) != 1:
        raise ConfigurationError(f"say one of {_PLACES}")
    if folder is not None:
        library_like: object = FolderLibrary(folder, chunking=chunking)
    elif library is not None:
        library_like = library() if callable(library) else library
    else:
        library_like = _open_library(path, url, embedder, chunking, vector_weight)
    searchable_library = cast("SearchableLibrary", library_like)  # which RagTools checks
    return RagTools(name, description, searchable_library, _read_scope(scope), cites=cites, max_chars=max_chars)


def _open_library(
    path: str | Path | None, url: str | None, embedder: str | None, chunking: Chunking, weight: float
) -> Library:
    if path is not None and not Path(path).is_file():
        raise ConfigurationError(f"there is no library at {path}: make it with `tactician rag ingest`")
    location = url or Path(path or "")
    if embedder is None:
        return Library(location, chunking=chunking, vector_weight=weight)
    model: Embedder = WordLlamaEmbedder() if embedder == _OFFLINE else embedder
    return Library(location, embedder=model, chunking=chunking, vector_weight=weight)


def _read_scope(scope: object) -> _Scope:
    if scope is None or isinstance(scope, Filter):
        return scope
    if isinstance(scope, Mapping):
        return Filter.of(TypeAdapter(dict[str, MetadataValue]).validate_python(scope))
    if callable(scope):
        return cast("ScopeFunction", scope)
    raise ValueError("scope: it must be a filter on metadata, or the full name of a function that returns one")


def describe_rag_tools(reference: LlmReference, write_path: WritePath) -> dict[str, object] | None:
    """Return the fields of the entry that creates an equal reference.

    Raises:
        ConfigurationError: when an entry cannot have all of it.
    """
    if type(reference) is not RagTools:
        return None
    if reference.listeners:
        raise ConfigurationError("its listeners are functions of the program")
    library: object = reference.library
    default = (as_contributor(HypotheticalDocument()),) if isinstance(library, VectorSearch) else ()
    if tuple(reference.hints or ()) != default:
        raise ConfigurationError("an entry has no hints of its own")
    return {
        "name": reference.name,
        "description": reference.description,
        **_describe_library(library, write_path),
        "scope": _describe_scope(reference.scope),
        "cites": None if reference.cites else False,
        "max_chars": None if reference.max_chars == RagTools.max_chars else reference.max_chars,
    }


def _describe_library(library: object, write_path: WritePath) -> dict[str, object]:
    if type(library) is FolderLibrary:
        return {"folder": write_path(library.folder.absolute()), **_describe_chunking(library.chunking)}
    if type(library) not in (Library, VectorLibrary):
        raise ConfigurationError(f"no entry describes {library!r}: make a class of your own kind of reference")
    assert isinstance(library, Library)
    if library.reranker is not None:
        raise ConfigurationError("an entry has no reranker")
    embedder = _describe_embedder(library.embedder.model) if isinstance(library, VectorLibrary) else None
    weight = None if library.vector_weight == VECTOR_WEIGHT else library.vector_weight
    return {
        **_describe_store(library.store, write_path),
        "embedder": embedder,
        "vector_weight": weight,
        **_describe_chunking(library.chunking),
    }


def _describe_store(store: object, write_path: WritePath) -> dict[str, object]:
    if isinstance(store, SqliteChunkStore) and store.path is not None:
        return {"path": write_path(store.path.absolute())}
    if isinstance(store, PostgresChunkStore):
        if urlsplit(store.url).password is not None:
            raise ConfigurationError("the address of its database has a password; keep it in the environment of libpq")
        return {"url": store.url}
    raise ConfigurationError("its library is in no file and no database")


def _describe_embedder(embedder: Embedder) -> str:
    if isinstance(embedder, str):
        return embedder
    if type(embedder) is WordLlamaEmbedder:
        return _OFFLINE
    raise ConfigurationError(f"no entry describes its embedder {embedder.name!r}: give a library the model's name")


def _describe_chunking(chunking: Chunking) -> dict[str, object]:
    return {} if chunking == DEFAULT_CHUNKING else {"chunking": chunking}


def _describe_scope(scope: object) -> object:
    if callable(scope):
        if (name := find_import_path(cast("Callable[..., object]", scope))) is None:
            raise ConfigurationError("no import finds the function of its scope; define it in a module")
        return name
    conditions = Filter.of(cast("Filter", scope)).conditions
    filtered = {each.key: each.values[0] if len(each.values) == 1 else list(each.values) for each in conditions}
    if len(filtered) < len(conditions):
        raise ConfigurationError("its scope has two conditions on the same fact")
    return filtered or None


LATE_KINDS["library"].bind(LateKind(create_rag_tools, describe_rag_tools))
