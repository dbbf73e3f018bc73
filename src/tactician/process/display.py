"""Objects as text for people who are asked about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic_core import to_jsonable_python

_INDENT = "  "
_LONGEST = 10_000
_WORDS: Mapping[object, str] = {True: "yes", False: "no", None: "-"}


def format_for_people(value: object) -> str:
    """Return an object as lines such as `price: 3`, with what is inside it indented; a text as it is.

    At most 10,000 characters are shown.
    """
    text = value if isinstance(value, str) else "\n".join(_format_lines(to_jsonable_python(value, fallback=str)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _format_lines(value: object) -> Iterator[str]:
    """Yield the lines of a JSON value."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _format_entry(f"{name}:".replace("_", " "), inner)
        case list():
            for inner in value:
                yield from _format_entry("-", inner)
        case bool() | None:
            yield _WORDS[value]
        case _:
            yield from str(value).splitlines()


def _format_entry(mark: str, inner: object) -> Iterator[str]:
    """Yield a value behind its mark: on the same line, where it is a single line, else indented below."""
    lines = list(_format_lines(inner))
    if len(lines) <= 1 and not (isinstance(inner, dict | list) and inner):
        yield f"{mark} {lines[0] if lines else _WORDS[None]}"
        return
    yield mark
    yield from (f"{_INDENT}{line}" for line in lines)
