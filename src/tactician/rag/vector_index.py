"""Vectors of a library in memory, compared with a query exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.llm.embeddings.model import Vector
from tactician.rag.chunk_store import RankedChunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.int64]
    Scores: TypeAlias = NDArray[np.float32]

_SMALL: Final = 2_048
_MOST_SMALL: Final = 16
_GROUP: Final = 64


def pack_vectors(vectors: Collection[Vector]) -> list[bytes]:
    """Return vectors in their stored form: of the length 1, as 16-bit floats.

    Raises:
        ConfigurationError: when they are empty, not finite, or not of the same length.
    """
    numpy = _import_numpy()
    if len({len(vector) for vector in vectors}) > 1:
        raise ConfigurationError("An embedding model made vectors of different lengths. Use another model.")
    numbers = numpy.asarray(list(vectors), dtype=numpy.float32)
    lengths = numpy.linalg.norm(numbers, axis=-1, keepdims=True)
    if (vectors and not numbers.size) or not numpy.isfinite(lengths).all():
        raise ConfigurationError("An embedding model made a vector that is empty or not finite. Use another model.")
    lengths[lengths == 0] = 1.0
    return [vector.tobytes() for vector in (numbers / lengths).astype("<f2")]


class VectorBlock(NamedTuple):
    """Vectors of some chunks.

    Attributes:
        chunks: the number of the chunk of each vector.
        documents: the number of its document.
        matrix: the vectors.
    """

    chunks: Numbers
    documents: Numbers
    matrix: Matrix

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, bytes]]) -> VectorBlock:
        """Return the vectors in rows, of which each has the numbers of a chunk and its document, and a packed vector.

        Args:
            rows: the rows, which are not empty.
        """
        numpy = _import_numpy()
        chunks, documents, packed = zip(*rows, strict=True)
        if len({len(vector) for vector in packed}) > 1:
            raise _create_length_error()
        numbers = numpy.frombuffer(b"".join(packed), dtype="<f2").reshape(len(packed), -1)
        return cls(numpy.asarray(chunks), numpy.asarray(documents), numbers.astype(numpy.float32))

    @classmethod
    def join(cls, blocks: Sequence[VectorBlock]) -> VectorBlock:
        """Return the vectors of several blocks."""
        numpy = _import_numpy()
        return cls(*(numpy.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def drop(self, documents: Sequence[int]) -> VectorBlock:
        """Return the vectors that are not of some documents."""
        numpy = _import_numpy()
        stays = numpy.isin(self.documents, documents, invert=True)
        return self if stays.all() else VectorBlock(self.chunks[stays], self.documents[stays], self.matrix[stays])


class VectorIndex:
    """Vectors of chunks. 100,000 vectors of 256 numbers take 100 MB; a query is compared with them in about 5 ms.

    Args:
        blocks: the vectors.
    """

    def __init__(self, blocks: Iterable[VectorBlock] = ()) -> None:
        self._blocks = _join_small([block for block in blocks if block.chunks.size])
        if len({block.matrix.shape[1] for block in self._blocks}) > 1:
            raise _create_length_error()
        if self._blocks:
            self._chunks = _import_numpy().concatenate([block.chunks for block in self._blocks])

    @property
    def dimensions(self) -> int:
        """Numbers of each vector; 0 without vectors."""
        return int(self._blocks[0].matrix.shape[1]) if self._blocks else 0

    def count_by_document(self) -> Mapping[int, int]:
        """Return the numbers of the vectors of documents."""
        numpy, counts = _import_numpy(), dict[int, int]()
        for block in self._blocks:
            for document, count in zip(*numpy.unique(block.documents, return_counts=True), strict=True):
                counts[int(document)] = counts.get(int(document), 0) + int(count)
        return counts

    def replace(self, documents: Sequence[int], blocks: Iterable[VectorBlock]) -> VectorIndex:
        """Return an index without the vectors of some documents, and with the vectors of some blocks."""
        return VectorIndex([*(block.drop(documents) for block in self._blocks), *blocks])

    def find_nearest(self, vector: Vector, top_k: int, documents: Collection[int] | None = None) -> list[RankedChunk]:
        """Return the nearest chunks with the cosines of their angles to a vector, the nearest first.

        Args:
            vector: the vector.
            top_k: the largest number of chunks.
            documents: the documents that are searched; all of them, when `None`.
        """
        if not self._blocks or top_k < 1:
            return []
        numpy = _import_numpy()
        if len(vector) != self.dimensions:
            raise ConfigurationError(
                f"The embedding model makes vectors of {len(vector)} numbers, and the library has vectors of "
                f"{self.dimensions} under its name. Name the model differently, or ingest the documents anew."
            )
        query = numpy.asarray(vector, dtype=numpy.float32)
        query = query / (float(numpy.linalg.norm(query)) or 1.0)
        # By a single thread, which waits for memory and for nobody else: BLAS's threads wait for each other.
        scores = numpy.concatenate([numpy.einsum("ij,j->i", block.matrix, query) for block in self._blocks])
        chunks = self._chunks
        if documents is not None:
            accepted = [numpy.isin(block.documents, list(documents)) for block in self._blocks]
            scores = numpy.where(numpy.concatenate(accepted), scores, -2.0)
        best = _select_best(scores, top_k)
        ordered = best[numpy.lexsort((chunks[best], -scores[best]))]
        return [RankedChunk(int(chunks[i]), float(scores[i])) for i in ordered if scores[i] > -2.0]


def _select_best(scores: Scores, top_k: int) -> Numbers:
    """Return the places of the best scores, in any order."""
    numpy = _import_numpy()
    groups = len(scores) // _GROUP
    if groups > top_k:
        # As many groups as are wanted have a best score that is not less than this one.
        bests = numpy.maximum.reduceat(scores, numpy.arange(0, len(scores), _GROUP))
        least = numpy.partition(bests, len(bests) - top_k)[len(bests) - top_k]
        places: Numbers = numpy.flatnonzero(scores >= least)
    else:
        places = numpy.arange(len(scores))
    first = max(0, len(places) - top_k)
    chosen: Numbers = places[numpy.argpartition(scores[places], first)[first:]]
    return chosen


def _join_small(blocks: list[VectorBlock]) -> list[VectorBlock]:
    """Return the blocks, of which the small ones are joined when they are many."""
    small = [block for block in blocks if len(block.chunks) < _SMALL]
    if len(small) <= _MOST_SMALL:
        return blocks
    return [*(block for block in blocks if len(block.chunks) >= _SMALL), VectorBlock.join(small)]


def _create_length_error() -> ConfigurationError:
    return ConfigurationError("The library has vectors of different lengths. Embed its documents again.")


def _import_numpy() -> Any:  # noqa: ANN401 - the module of an extra
    with require_extra("rag", "Vectors need"):
        import numpy
    return numpy
