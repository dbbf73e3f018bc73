"""Signatures of Python functions: types, defaults and docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import get_type_hints

from tactician.errors import DeclarationError
from tactician.frozen import frozen


def find_caller_namespace(depth: int) -> dict[str, object]:
    """Return the local names of the function `depth` frames above the caller; empty at module level.

    Types that are declared inside a function are only visible there.
    """
    frame = sys._getframe(depth + 1)
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def resolve_hints(function: Callable[..., object], namespace: Mapping[str, object]) -> dict[str, object]:
    """Return the annotations of a function, with strings resolved.

    Raises:
        DeclarationError: when an annotation names something that does not exist, or this is not a function.
    """
    try:
        return dict(get_type_hints(function, localns=dict(namespace), include_extras=True))
    except NameError as error:
        name = getattr(function, "__qualname__", repr(function))
        raise DeclarationError(name, [f"the annotation {error.name!r} is not defined where it can be seen"]) from error
    except (AttributeError, SyntaxError) as error:
        name = getattr(function, "__qualname__", repr(function))
        raise DeclarationError(name, [f"an annotation cannot be read: {error}"]) from error
    except TypeError as error:
        raise DeclarationError(repr(function), ["it is not a function; wrap it in a function"]) from error


@frozen
class ParsedDocstring:
    """Docstring: the text before the arguments, and the text of each argument."""

    summary: str
    parameters: Mapping[str, str]


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes):\s*$")
_GOOGLE = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_SPHINX = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


def parse_docstring(function: Callable[..., object]) -> ParsedDocstring:
    """Parse the docstring of a function, in Google's or Sphinx's style."""
    lines = (inspect.getdoc(function) or "").splitlines()
    end = next((i for i, line in enumerate(lines) if _SECTION.match(line) or line.startswith(":")), len(lines))
    return ParsedDocstring(
        "\n".join(lines[:end]).strip(), {**_parse_google_parameters(lines), **_parse_sphinx_parameters(lines)}
    )


def _parse_google_parameters(lines: list[str]) -> dict[str, str]:
    start = next((i for i, line in enumerate(lines) if re.match(r"^(Args|Arguments|Parameters):\s*$", line)), None)
    if start is None:
        return {}
    block = []
    for line in lines[start + 1 :]:
        if line and not line[0].isspace():
            break
        block.append(line)
    return _parse_descriptions(inspect.cleandoc("\n".join(block)).splitlines(), _GOOGLE)


def _parse_sphinx_parameters(lines: list[str]) -> dict[str, str]:
    return _parse_descriptions([line for line in lines if line.startswith((":", " "))], _SPHINX)


def _parse_descriptions(lines: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return the text of each parameter; indented lines continue the previous text."""
    described: dict[str, str] = {}
    current: str | None = None
    for line in lines:
        if (match := pattern.match(line)) is not None:
            current = match[1].lstrip("*")
            described[current] = match[2].strip()
        elif current is not None and line.startswith(" ") and line.strip():
            described[current] = f"{described[current]} {line.strip()}".strip()
        else:
            current = None
    return described
