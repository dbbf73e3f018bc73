"""Server-sent events (WHATWG HTML, section 9.2), decoded from bytes that may be cut anywhere.

Only the data of an event is returned: every wire format has the event's type in it, so that names, ids and retry
times are skipped like comments. Unlike in the standard, an event that the stream ends in
is returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from tactician.errors import MalformedResponseError

MAX_EVENT = 16 * 2**20
"""Bytes of an event, if a decoder has no limit of its own."""


class SseDecoder:
    """Decoder that collects bytes and returns the `data` of each complete event.

    Args:
        model: the name of the model in errors.
        limit: the largest event, in bytes.
    """

    def __init__(self, model: str = "", limit: int = MAX_EVENT) -> None:
        self._model = model
        self._limit = limit
        self._rest = bytearray()
        self._ends_in_return = False
        self._encoding = "utf-8-sig"  # drops a byte order mark, which can only come first

    def feed(self, chunk: bytes) -> Sequence[str]:
        """Return the data of every event that `chunk` completes.

        Raises:
            MalformedResponseError: when an event is too large.
        """
        rest = self._rest
        searched = max(len(rest) - 1, 0)
        rest += self._with_plain_newlines(chunk)
        end = rest.rfind(b"\n\n", searched)
        if end < 0:
            if len(rest) > self._limit:
                message = f"{self._model}: an event of the stream is larger than {self._limit:,} bytes"
                raise MalformedResponseError(message, model=self._model)
            return ()
        text = rest[:end].decode(self._encoding, "replace")
        del rest[: end + 2]
        self._encoding = "utf-8"
        return _data(text)

    def close(self) -> Sequence[str]:
        """Return the data of an event that the end of the stream left without its empty line."""
        return self.feed(b"\n\n")

    def _with_plain_newlines(self, chunk: bytes) -> bytes:
        r"""Return the chunk with `\\n` for each end of a line, also where the last chunk ended within a `\\r\\n`."""
        if self._ends_in_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._ends_in_return = False
        if b"\r" in chunk:
            self._ends_in_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk


def _data(text: str) -> list[str]:
    """Return the data of each of several complete events."""
    if text.startswith("data: "):  # this runs for every token: often each event is a single line
        events = text[6:].split("\n\ndata: ")
        if text.count("\n") == 2 * (len(events) - 1):
            return events
    return [data for event in text.split("\n\n") if (data := _data_of(event)) is not None]


def _data_of(event: str) -> str | None:
    before, _, last = event.rpartition("\n")
    if last.startswith("data: ") and "data" not in before:  # nearly always
        return last[6:]
    lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:") or line == "data"]
    return "\n".join(lines) if lines else None
