"""Mistakes of syntax, so that an edit that breaks a file is refused."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from typing import TYPE_CHECKING, Final

from tactician.coding.trees.languages import find_grammar
from tactician.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_TEXT: Final = 2_000_000


@frozen
class SyntaxMistake:
    """First mistake of syntax in a text.

    Attributes:
        line: its line, from 1.
        message: the mistake.
    """

    line: int
    message: str


def find_mistake(path: str, text: str) -> SyntaxMistake | None:
    """Return the first mistake of syntax; `None` for a valid text, and for an unknown language."""
    if len(text) > _MAX_TEXT:
        return None
    if (grammar := find_grammar(path)) is None:
        return _find_without_grammar(path, text)
    root = grammar.parser.parse(text.encode("utf-8", "replace")).root_node
    return _describe(_find_broken(root)) if root.has_error else None


def _find_without_grammar(path: str, text: str) -> SyntaxMistake | None:
    """Return the first mistake in a language that Python's own library parses."""
    try:
        if path.endswith(".py"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        elif path.endswith(".json"):
            json.loads(text)
        elif path.endswith(".toml"):
            tomllib.loads(text)
    except SyntaxError as error:
        return SyntaxMistake(error.lineno or 1, error.msg)
    except json.JSONDecodeError as error:
        return SyntaxMistake(error.lineno, error.msg)
    except (ValueError, RecursionError) as error:
        return SyntaxMistake(1, str(error))
    return None


def _find_broken(node: Node) -> Node:
    """Return the first node that is an error, or that is missing."""
    while True:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None or node.is_missing:
            return node
        if node.is_error and not any(child.is_error for child in node.children):
            return node
        node = inner


def _describe(node: Node) -> SyntaxMistake:
    line = node.start_point[0] + 1
    if node.is_missing:
        return SyntaxMistake(line, f"{node.type!r} is missing")
    text = (node.text or b"").decode(errors="replace").strip().split("\n")[0][:80]
    return SyntaxMistake(line, f"not valid near {text!r}")
