"""What a process fails with, without the lines of the tests that raised it."""

from __future__ import annotations

import re

_PLACE = re.compile(r" \(\S+\.py:\d+\)")


def without_lines(failure: object) -> str:
    """Return the text of a failure without the files and lines that it names."""
    return _PLACE.sub("", str(failure))
