"""Encodings of texts from the web."""

from __future__ import annotations

import codecs
import re
from typing import Final

_HEAD: Final = 2_048
"""Bytes of a page in which it may name its encoding."""
_META: Final = re.compile(rb"""<meta\s[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WESTERN: Final = "cp1252"
_KNOWN: Final = frozenset(
    (
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", _WESTERN, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255"),
        *("cp1256", "cp1257", "cp1258", "cp866", "cp874", "tis-620", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
        *("gbk", "gb2312", "gb18030", "big5", "big5hkscs", "euc_jp", "shift_jis", "cp932", "iso2022_jp", "euc_kr"),
        "cp949",
    )
)
"""Encodings that browsers read. Others that Python has take quadratic time, or are no encodings of text."""


def decode_text(content: bytes, declared: str, *, is_page: bool) -> str:
    """Return content as text. A byte order mark counts first, then the server's word, then the page's.

    Args:
        content: the bytes.
        declared: the encoding that the server names; empty when it names none.
        is_page: true for HTML, which may name its encoding itself.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    named = _find_known(declared) or (_find_in_page(content) if is_page else None)
    return content.decode(named or "utf-8", "replace")


def _find_in_page(content: bytes) -> str | None:
    if (match := _META.search(content[:_HEAD])) is None:
        return None
    encoding_name = _find_known(match[1].decode("ascii", "replace"))
    return (
        None if encoding_name is None or encoding_name.startswith("utf-16") else encoding_name
    )  # who could read the name in UTF-16?


def _find_known(label: str) -> str | None:
    """Return Python's name of an encoding; `None` for what no browser reads."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _WESTERN if name in ("iso8859-1", "ascii") else name  # as browsers do
    return name if name in _KNOWN else None
