"""Text of a file, with the encoding and the line breaks that it is written back with."""

from __future__ import annotations

import codecs
from typing import Final, Self

from tactician.errors import ToolError
from tactician.frozen import frozen

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOK: Final = 8_192


@frozen
class SourceText:
    r"""Text whose lines end with `\n`, as models write them, whatever they end with in the file.

    Attributes:
        text: the text. Bytes that are not of the encoding are lone surrogates in it, and so are written back.
        encoding: the encoding.
        mark: the byte order mark.
        newline: the line break in the file; `"\n"` also where line breaks are mixed, which stay as they are.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    @classmethod
    def decode(cls, content: bytes, path: str) -> Self:
        """Return the text of a file.

        Raises:
            ToolError: when it is not text.
        """
        mark, encoding = next((pair for pair in _MARKS if content.startswith(pair[0])), (b"", "utf-8"))
        if encoding == "utf-8" and b"\0" in content[:_LOOK]:
            raise ToolError(f"{path!r} is a binary file: it cannot be read or edited as text.")
        errors = "surrogateescape" if encoding == "utf-8" else "strict"
        try:
            text = content[len(mark) :].decode(encoding, errors)
        except UnicodeDecodeError as error:
            raise ToolError(f"{path!r} is not valid {encoding}: {error.reason}.") from error
        crlf = text.count("\r\n")
        if crlf and crlf == text.count("\n") and crlf == text.count("\r"):
            return cls(text.replace("\r\n", "\n"), encoding, mark, "\r\n")
        return cls(text, encoding, mark)

    def encode(self, text: str) -> bytes:
        """Return another text as the bytes of this file.

        Raises:
            ToolError: when the encoding lacks a character of it.
        """
        if self.newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", self.newline)
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            raise ToolError(f"The text has characters that {self.encoding} cannot encode: {error.reason}.") from error


def show_line(text: str, longest: int) -> str:
    """Return a line as models see it: without lone surrogates, and cut where it is long."""
    if len(text) > longest:
        text = f"{text[:longest]}… (+{len(text) - longest:,} characters)"
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def number_lines(text: str, first: int, last: int, longest: int = 500) -> str:
    """Return lines of a text with their numbers, from 1.

    Args:
        text: the whole text.
        first: number of the first line.
        last: number of the last line.
        longest: characters of a line that are shown.
    """
    lines = text.split("\n")[max(first, 1) - 1 : last]
    return "\n".join(f"{number:>6}\t{show_line(line, longest)}" for number, line in enumerate(lines, max(first, 1)))


def count_lines(text: str) -> int:
    """Return the number of lines; a line break at the end begins none."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)
