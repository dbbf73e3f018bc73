"""Every regular expression of the package takes linear time in the way it is used, whatever the text is."""

from __future__ import annotations

import gc
import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import product
from time import process_time
from types import ModuleType
from typing import Final

from tests.support.modules import list_module_names

_METHODS: Final = "search|match|fullmatch|finditer|findall|split|subn|sub"
_LENGTH: Final = 8_000
_SECONDS: Final = 0.25
"""Time for a text: one that is read in quadratic time takes several times as long, a linear one a hundredth."""
_SIGNS: Final = ("a", " ", "0", "{", "[", '"', "\\", "'", "-", ":", "/", ".", "\n", "#", "|", "=", "_", "A")
_PIECES: Final = (
    *(
        "\t",
        "}",
        "]",
        "(",
        "<",
        ">",
        "`",
        "@",
        "?",
        "&",
        "~",
        ",",
        "+",
        "*",
        "$",
        "é",
        "漢",
        "\r",
        "<a ",
        "<a href=",
        "</",
    ),
    *(
        "-----BEGIN ",
        "PRIVATE KEY",
        "eyJaaaaaaaaa.",
        "key=",
        "password: ",
        "Bearer ",
        "sk-",
        "a: ",
        "```",
        "{{ ",
        "${A:-",
    ),
    *("](", "![", '"data": "', "<meta ", "charset", "http://a.", "scripts/a/", "[cite:", "aA", "token=", "1e", '"a\\'),
)
_TYPED_BY_ITS_READER: Final = {"tactician.cli.shell.completion._LAST_WORD"}
"""Expressions that only read a line which a person has just typed."""


def _list_uses(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes], str]]:
    """Yield the regular expressions of a module, each with a method by which it is used there."""
    source = inspect.getsource(module)
    for name, value in vars(module).items():
        if not re.search(rf"^{name}\b.*= ", source, re.MULTILINE):  # it is of another module
            continue
        if isinstance(value, re.Pattern):
            for method in {*re.findall(rf"\b{name}\.({_METHODS})\b", source)} or {"search"}:
                yield f"{module.__name__}.{name}", value, method
        for number, part in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(pattern := getattr(part, "pattern", None), re.Pattern):
                yield f"{module.__name__}.{name}[{number}]", pattern, "sub"


def _use(pattern: re.Pattern[str] | re.Pattern[bytes], method: str, text: str) -> None:
    data = text.encode() if isinstance(pattern.pattern, bytes) else text
    used = getattr(pattern, method)
    found = used(data[:0], data) if method.startswith("sub") else used(data)
    if method == "finditer":
        for _ in found:
            pass


def test_every_text_takes_linear_time() -> None:
    uses = [
        use
        for name in list_module_names()
        if not name.endswith(("__main__", "_program", "plugin"))
        for use in _list_uses(importlib.import_module(name))
        if use[0] not in _TYPED_BY_ITS_READER
    ]
    assert len(uses) > 120
    pairs = ("".join(pair) for pair in product(_SIGNS[::2], _SIGNS[1::2]))
    texts = [piece * (_LENGTH // len(piece)) for piece in (*_SIGNS, *_PIECES)]
    texts += [f"{text}!\0" for text in texts] + [pair * (_LENGTH // 2) for pair in pairs]
    slow = set()
    gc.disable()
    try:
        for (name, pattern, method), text in product(uses, texts):
            began = process_time()
            _use(pattern, method, text)
            if process_time() - began > _SECONDS:
                slow.add(f"{name}.{method}: {text[:20]!r}")
    finally:
        gc.enable()
    assert not slow
