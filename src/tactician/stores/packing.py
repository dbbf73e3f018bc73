"""Compressed texts of documents in memory, whose pictures and documents in base64 are kept once, by their content."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final
from weakref import WeakValueDictionary

from tactician.stores.attachments import extract_attachments, restore_attachments
from tactician.stores.document import Body, get_text

_SHORTEST: Final = 100
_MOST_SAMPLES: Final = 256
_RAW_DEFLATE: Final = -15
_SAMPLE_SIZE: Final = 1 << 15  # deflate looks back no further
_LEVEL: Final = 6  # as fast as lower levels for short texts: the sample takes nearly all of the time


class SharedContent:
    """Content of an attachment, which all texts with the attachment have.

    Args:
        content: the content.
    """

    __slots__ = ("__weakref__", "content")

    def __init__(self, content: bytes) -> None:
        self.content = content


_NOTHING: Final[Mapping[str, SharedContent]] = MappingProxyType({})


class PackedText:
    """Compressed text, as the body of a document or of a step.

    Args:
        data: the compressed text, without its attachments.
        sample: text that the compressor knew before.
        attachments: the attachments by their names.
    """

    __slots__ = ("_attachments", "_data", "_sample")

    def __init__(self, data: bytes, sample: bytes, attachments: Mapping[str, SharedContent]) -> None:
        self._data = data
        self._sample = sample
        self._attachments = attachments

    def __len__(self) -> int:
        return len(self.to_json())

    def to_json(self) -> str:
        """Return the text."""
        text = zlib.decompressobj(_RAW_DEFLATE, self._sample).decompress(self._data).decode()
        return restore_attachments(text, {name: shared.content for name, shared in self._attachments.items()})


class TextPacker:
    """Compressor that knows a text of each kind before, as the runs of an agent have most of their text in common."""

    def __init__(self) -> None:
        self._samples: dict[str, bytes] = {}
        self._attachments: WeakValueDictionary[str, SharedContent] = WeakValueDictionary()

    def pack(self, kind: str, bodies: Iterable[Body]) -> list[Body]:
        """Return bodies compressed, except those that are compressed already or short.

        The first bodies of a kind are the sample for all others of that kind.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        bodies = [body if isinstance(body, PackedText) else get_text(body) for body in bodies]
        sample = self._find_sample(kind, bodies)
        return [self._compress(body, sample) if isinstance(body, str) else body for body in bodies]

    def _find_sample(self, kind: str, bodies: Iterable[Body]) -> bytes:
        if (sample := self._samples.get(kind)) is None:
            if len(self._samples) >= _MOST_SAMPLES:
                del self._samples[next(iter(self._samples))]  # texts that were compressed with it still have it
            texts = (extract_attachments(get_text(body))[0] for body in bodies)
            sample = self._samples[kind] = "".join(texts).encode()[:_SAMPLE_SIZE]
        return sample

    def _compress(self, text: str, sample: bytes) -> Body:
        if len(text) < _SHORTEST:
            return text
        plain, contents = extract_attachments(text)
        attachments = {name: self._share(name, content) for name, content in contents.items()}
        compressor = zlib.compressobj(level=_LEVEL, wbits=_RAW_DEFLATE, zdict=sample)
        return PackedText(compressor.compress(plain.encode()) + compressor.flush(), sample, attachments or _NOTHING)

    def _share(self, name: str, content: bytes) -> SharedContent:
        """Return the content that other texts have, too."""
        if (shared := self._attachments.get(name)) is None:
            shared = self._attachments[name] = SharedContent(content)
        return shared
