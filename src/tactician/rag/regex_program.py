"""Program that compiles and matches a regular expression in a process of its own.

`python -m tactician.rag.regex_program MEGABYTES CPU_SECONDS`: twenty characters can take all memory when they are
compiled, and all time when they are matched. The first request has the expression, each further one has texts.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any, Final

from tactician.rag.child_program import forbid_files, limit_process, serve_requests


def main() -> None:
    """Answer requests until there are no more."""
    megabytes, seconds = map(int, sys.argv[1:])
    limit_process(megabytes, seconds)
    forbid_files()
    serve_requests(_Matcher().answer)


SEPARATOR: Final = "\0"
"""Sign between texts, which is in none of them."""


class _Matcher:
    def answer(self, header: dict[str, Any], body: bytes) -> dict[str, Any]:
        if header.get("ping"):
            import regex  # noqa: F401 - it is loaded before the time for an expression begins

            return {}
        if (source := header.get("pattern")) is not None:
            began = monotonic()
            self._compile(source)
            return {"seconds": monotonic() - began}
        began = monotonic()
        texts = body.decode(errors="surrogatepass").split(SEPARATOR)
        matches = [number for number, text in enumerate(texts) if self._pattern.search(text) is not None]
        return {"matches": matches, "seconds": monotonic() - began}

    def _compile(self, source: str) -> None:
        import regex

        self._pattern = regex.compile(source)


if __name__ == "__main__":
    main()
