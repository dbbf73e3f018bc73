"""Signatures of the API as a reader would write them: no addresses of default values, no fields that are constant.

The attributes of a class stand under "Attributes", not under "Variables".
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.domains.python._object import PyObject

_CONSTANT = re.compile(r"(?:, )?\b(?:kind|role|type): (?:~?typing\.)?Literal\['[\w-]+'\] = '[\w-]+'")
_DEFAULTS = (
    (re.compile(r"<factory>"), "..."),
    (re.compile(r"<class '(?:\w+\.)*(\w+)'>"), r"\1"),
    (re.compile(r"<(?:built-in )?(?:function|method) (\w+)[^>]*>"), r"\1"),
    (re.compile(r"<(\w+\.\w+): [^>]*>"), r"\1"),
    (re.compile(r"= (?:\w+\.)*([A-Z]\w+)\(\w+=(?:[^()]|\(\))*\)"), r"= \1(...)"),
)


def simplify_signature(signature: str) -> str:
    """Write default values by their names, and leave out the fields that tell the classes of a union apart."""
    for pattern, text in _DEFAULTS:
        signature = pattern.sub(text, signature)
    return _CONSTANT.sub("", signature).replace("(, ", "(")


def process_signature(
    app: Sphinx, what: str, name: str, thing: object, options: object, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Simplify the arguments of a class or a function, and leave out those of a protocol."""
    if what == "class" and getattr(thing, "_is_protocol", False):
        return "", None
    return (simplify_signature(signature) if signature else signature), result


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the simplification, and name the fields of classes."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    app.connect("autodoc-process-signature", process_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
