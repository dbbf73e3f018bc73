"""Vectors of a library in memory, compared with a query exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.llm import Vector
from tactician.rag.chunk_store import RankedChunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.int64]


def pack_vector(vector: Vector) -> bytes:
    """Return a vector in its stored form: of the length 1, as 16-bit floats.

    Raises:
        ConfigurationError: when the vector has no length.
    """
    numpy = _import_numpy()
    numbers = numpy.asarray(vector, dtype=numpy.float32)
    length = float(numpy.linalg.norm(numbers))
    if not numbers.size or not numpy.isfinite(length):
        raise ConfigurationError("An embedding model made a vector that is empty or not finite. Use another model.")
    packed: bytes = (numbers / (length or 1.0)).astype("<f2").tobytes()
    return packed


class VectorIndex:
    """Vectors of chunks. 100,000 vectors of 256 numbers take 100 MB; a query is compared with them in about 5 ms.

    Args:
        rows: the id of a chunk, the id of its document, and its packed vector.
    """

    def __init__(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        numpy = _import_numpy()
        chunks: list[int] = []
        documents: list[int] = []
        blocks: list[Any] = []
        pending: list[bytes] = []
        size = 0
        for chunk, document, packed in rows:
            if size and len(packed) != size:
                raise ConfigurationError("The library has vectors of different lengths. Embed its documents again.")
            size = len(packed)
            chunks.append(chunk)
            documents.append(document)
            pending.append(packed)
            if len(pending) == 4_096:  # so that there is never a second copy of all vectors
                blocks.append(self._convert(pending, size))
                pending.clear()
        if pending:
            blocks.append(self._convert(pending, size))
        self._chunks: Numbers = numpy.asarray(chunks, dtype=numpy.int64)
        self._documents: Numbers = numpy.asarray(documents, dtype=numpy.int64)
        self._matrix: Matrix = _join(blocks)

    @staticmethod
    def _convert(packed: Sequence[bytes], size: int) -> Matrix:
        numpy = _import_numpy()
        numbers = numpy.frombuffer(b"".join(packed), dtype="<f2")
        matrix: Matrix = numbers.reshape(len(packed), size // 2).astype(numpy.float32)
        return matrix

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def dimensions(self) -> int:
        """Numbers of each vector; 0 without vectors."""
        return int(self._matrix.shape[1]) if len(self) else 0

    def find_nearest(self, vector: Vector, top_k: int, documents: Collection[int] | None = None) -> list[RankedChunk]:
        """Return the nearest chunks with the cosines of their angles to a vector, the nearest first.

        Args:
            vector: the vector.
            top_k: the largest number of chunks.
            documents: the documents that are searched; all of them, when `None`.
        """
        if not len(self) or top_k < 1:
            return []
        numpy = _import_numpy()
        if len(vector) != self.dimensions:
            raise ConfigurationError(
                f"The embedding model makes vectors of {len(vector)} numbers, and the library has those of "
                f"{self.dimensions} under its name. Name the model differently, or ingest the documents anew."
            )
        query = numpy.asarray(vector, dtype=numpy.float32)
        query = query / (float(numpy.linalg.norm(query)) or 1.0)
        # By one thread, which waits for memory and for nobody else: those of BLAS wait for each other.
        scores = numpy.einsum("ij,j->i", self._matrix, query)
        if documents is not None:
            scores = numpy.where(numpy.isin(self._documents, list(documents)), scores, -2.0)
        first = max(0, len(scores) - top_k)
        best = numpy.argpartition(scores, first)[first:]
        ordered = best[numpy.lexsort((self._chunks[best], -scores[best]))]
        return [RankedChunk(int(self._chunks[i]), float(scores[i])) for i in ordered if scores[i] > -2.0]


def _join(blocks: list[Matrix]) -> Matrix:
    """Return the blocks as a single matrix. Each is freed when it has been copied."""
    numpy = _import_numpy()
    dimensions = blocks[0].shape[1] if blocks else 0
    matrix: Matrix = numpy.empty((sum(map(len, blocks)), dimensions), dtype=numpy.float32)
    end = len(matrix)
    while blocks:
        block = blocks.pop()
        matrix[end - len(block) : end] = block
        end -= len(block)
    return matrix


def _import_numpy() -> Any:  # noqa: ANN401 - the module of an extra
    with require_extra("rag", "Vectors need"):
        import numpy
    return numpy
