"""Line ends of Jinja templates: a line of tags alone leaves nothing behind, any other line keeps its end."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jinja2.lexer import Lexer

_LINE_END = re.compile(r"\r\n|\r|\n")
_PRINTING: Final = "include"
"""Tag that prints, so that its line has an end of its own."""


def keep_line_ends(source: str) -> str:
    """Return the source of a template for an environment with `trim_blocks`, which removes the line end after any tag.

    A line keeps its end by a `+` in its last tag, unless it has nothing but tags that print nothing, and comments. A
    source that is not correct stays as it is.
    """
    from jinja2 import TemplateSyntaxError

    text = _LINE_END.sub("\n", source)
    try:
        places = _find_ends(text)
    except TemplateSyntaxError:
        return source
    parts = (text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True))
    return "+".join(parts)


def _find_ends(text: str) -> list[int]:
    """Return the places of the ends of tags and comments after which the line ends, and has to."""
    ends: list[int] = []
    place, end, is_bare, opens = 0, -1, True, False
    for _, kind, value in _create_lexer().tokeniter(text, None):
        place = text.index(value, place)
        if kind == "data":
            if end >= 0 and not is_bare and value.startswith("\n"):
                ends.append(end)
            _, newline, after = value.rpartition("\n")
            is_bare = not after.strip() and (bool(newline) or is_bare)
            end = -1
        elif kind == "variable_end" or (opens and kind == "name" and value == _PRINTING):
            is_bare, end = False, -1
        elif kind in ("block_end", "comment_end", "raw_end"):
            end = -1 if value.strip()[:1] in "+-" else place + len(value) - 2
        opens = kind == "block_begin" or (opens and kind == "whitespace")
        place += len(value)
    return ends


@cache
def _create_lexer() -> Lexer:
    from jinja2 import Environment

    return Environment().lexer  # it renders nothing
