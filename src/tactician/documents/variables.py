"""`${NAME}` and `${NAME:-default}` in texts. `$${` stands for a plain `${`."""

from __future__ import annotations

import re
from collections.abc import Callable

from tactician.frozen import frozen

_START = re.compile(r"\$?\$\{")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(:-|\})")


@frozen
class Variable:
    """Variable in a text.

    Attributes:
        text: the variable as it was written.
        name: the name; empty if `${` does not begin a variable.
        default: the text after `:-`, if any.
    """

    text: str
    name: str = ""
    default: str | None = None


def substitute_variables(text: str, replace: Callable[[Variable], str]) -> str:
    """Return the text with its variables replaced once, in linear time: replacements are not expanded."""
    if "${" not in text:
        return text
    parts, end, last = list[str](), 0, text.rfind("}")
    for start in _START.finditer(text):
        if start.start() < end:  # inside of a default
            continue
        parts.append(text[end : start.start()])
        if start[0] == "$${":
            parts.append("${")
            end = start.end()
        else:
            variable = _read_variable(text, start.start(), last)
            parts.append(replace(variable))
            end = start.start() + len(variable.text)
    return "".join([*parts, text[end:]])


def escape_variables(text: str) -> str:
    """Return a text whose substitution yields the original text."""
    return _START.sub(r"$\g<0>", text)


def find_variable(text: str) -> Variable | None:
    """Return the variable that is the whole text, or `None`."""
    if not text.startswith("${"):
        return None
    variable = _read_variable(text, 0, text.rfind("}"))
    return variable if variable.name and variable.text == text else None


def has_variables(text: str) -> bool:
    """Return whether a text has variables."""
    names = list[str]()

    def note(variable: Variable) -> str:
        names.append(variable.name)
        return ""

    substitute_variables(text, note)
    return any(names)


def _read_variable(text: str, start: int, last: int) -> Variable:
    """Return the variable at a position. Without a `}` after it, the rest of the text is not searched."""
    name_match = _NAME.match(text, start + 2)
    if name_match is None:
        return Variable("${")
    name, mark = name_match.groups()
    if mark == "}":
        return Variable(text[start : name_match.end()], name)
    if last < name_match.end():
        return Variable("${")
    end = text.index("}", name_match.end())
    return Variable(text[start : end + 1], name, text[name_match.end() : end])
