"""Text that models, tools and users wrote: without what breaks a terminal, an encoder or a regular expression."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LANGUAGE = re.compile(r"[\w-]*")
_FENCE = "```"
_LONGEST_ERROR = 10_000
_PARTS = 64


class GrowingText:
    """Text that comes in pieces, and is parsed from its beginning while it grows.

    A parse after each piece would take quadratic time. So a long text is due once it has grown by a 64th.
    """

    __slots__ = ("_due", "_length", "_pieces")

    def __init__(self) -> None:
        self._pieces = [""]
        self._length = self._due = 0

    def add(self, piece: str) -> str | None:
        """Add a piece, and return the whole text if it is due."""
        self._pieces.append(piece)
        self._length += len(piece)
        return self.end() if self._length >= self._due else None

    def end(self) -> str | None:
        """Return the whole text if it has grown since it was due."""
        if len(self._pieces) < 2:
            return None
        text = "".join(self._pieces)
        self._pieces, self._due = [text], self._length + self._length // _PARTS
        return text


def strip_code_fence(text: str) -> str | None:
    """Return what is inside the code fence that the whole text is, or `None` when it is none. The time is linear."""
    stripped = text.strip()
    if not (stripped.startswith(_FENCE) and stripped.endswith(_FENCE)):
        return None
    language, newline, rest = stripped[len(_FENCE) :].partition("\n")
    if not newline or _LANGUAGE.fullmatch(language.rstrip()) is None:
        return None
    return rest[: -len(_FENCE)].strip()


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate, which UTF-8 cannot encode, as U+FFFD.

    Two surrogates that are a pair become the character that they stand for.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def escape_controls(text: str) -> str:
    """Return the text with control characters, bidirectional overrides and lone surrogates as escapes.

    Tabs and line breaks stay, so that the text can be printed on a terminal and commands nothing there.
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def escape_json_controls(json: str) -> str:
    """Return JSON of the same meaning without raw control characters, bidirectional overrides and lone surrogates."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an error, in at most 10,000 characters, also when `str(error)` raises.

    Lone surrogates are escaped.
    """
    try:
        message = str(error)
    except Exception as raised:
        message = f"(its message cannot be read: {type(raised).__name__})"
    name = type(error).__name__
    text = f"{name}: {message}" if message else name
    shown = text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"
    return shown.encode("utf-8", "backslashreplace").decode()


def snake_case(name: str, prefix: str = "") -> str:
    """Return `code_writer` for `Code Writer` and `CodeWriter`: a tool name that every provider accepts."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return f"{prefix}{plain or 'agent'}"[:64]
