"""Server-sent events (WHATWG HTML, section 9.2), decoded from bytes that may be cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator


class SseDecoder:
    """Collects bytes and yields the `data` of each complete event."""

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of every event that `chunk` completes."""
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
            elif not line and self._data:
                yield self._take()

    def close(self) -> Iterator[str]:
        """The data of an event that the end of the stream left without its empty line."""
        yield from self.feed(b"\n")
        if self._data:
            yield self._take()

    def _take(self) -> str:
        data = "\n".join(self._data)
        self._data.clear()
        return data
