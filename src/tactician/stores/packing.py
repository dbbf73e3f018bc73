"""Compressed texts of documents in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

from tactician.stores.document import Body, get_text

_SHORTEST: Final = 100
_MOST_SAMPLES: Final = 256
_RAW_DEFLATE: Final = -15
_SAMPLE_SIZE: Final = 1 << 15  # deflate looks back no further


class PackedText:
    """Compressed text, as the body of a document or of a step.

    Args:
        data: the compressed text.
        sample: text that the compressor knew before.
    """

    __slots__ = ("_data", "_sample")

    def __init__(self, data: bytes, sample: bytes) -> None:
        self._data = data
        self._sample = sample

    def __len__(self) -> int:
        return len(self.to_json())

    def to_json(self) -> str:
        """Return the text."""
        return zlib.decompressobj(_RAW_DEFLATE, self._sample).decompress(self._data).decode()


class TextPacker:
    """Compressor that knows a text of each kind before, as the runs of an agent have most of their text in common."""

    def __init__(self) -> None:
        self._samples: dict[str, bytes] = {}

    def pack(self, kind: str, bodies: Iterable[Body]) -> list[Body]:
        """Return bodies compressed, except those that are compressed already or short.

        The first bodies of a kind are the sample for all others of that kind.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        bodies = [body if isinstance(body, PackedText) else get_text(body) for body in bodies]
        sample = self._find_sample(kind, bodies)
        return [_compress(body, sample) if isinstance(body, str) else body for body in bodies]

    def _find_sample(self, kind: str, bodies: Iterable[Body]) -> bytes:
        if (sample := self._samples.get(kind)) is None:
            if len(self._samples) >= _MOST_SAMPLES:
                del self._samples[next(iter(self._samples))]  # texts that were compressed with it still have it
            sample = self._samples[kind] = "".join(map(get_text, bodies)).encode()[:_SAMPLE_SIZE]
        return sample


def _compress(text: str, sample: bytes) -> Body:
    if len(text) < _SHORTEST:
        return text
    compressor = zlib.compressobj(level=6, wbits=_RAW_DEFLATE, zdict=sample)
    return PackedText(compressor.compress(text.encode()) + compressor.flush(), sample)
