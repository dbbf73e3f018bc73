"""Parser of documents of others, in a child process with limits of time and memory."""

from __future__ import annotations

import asyncio
from typing import Final, Self

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import MissingExtraError
from tactician.extras import describe_install
from tactician.flow.timeout import StepTimeoutError
from tactician.frozen import frozen
from tactician.rag.child_process import ChildProcess
from tactician.rag.deadlines import current_deadline
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.media_types import MediaKind, MediaType


@frozen
class ParserLimits:
    """Limits of what reading a document may take.

    Attributes:
        seconds: the time for a document.
        megabytes: the memory of the process that reads; not limited on Windows.
        max_bytes: the size of a file or of the answer of a web server.
    """

    seconds: float = 60.0
    megabytes: int = 1536
    max_bytes: int = 100_000_000


DEFAULT_LIMITS: Final = ParserLimits()


@frozen
class ParsedText:
    """Markdown that a document was turned into, with its title, if it has one."""

    text: str
    title: str


class ParserProcess:
    """Process that turns documents into Markdown, started on first use and again after a failure.

    The process gets the bytes of a document, knows no keys of this process, and can write no files.
    """

    def __init__(self, limits: ParserLimits = DEFAULT_LIMITS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._limits = limits
        self._process = ChildProcess("tactician.rag.parser_program", (limits.megabytes,), clock)
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._process.stop()

    async def parse(self, body: bytes, media: MediaType) -> ParsedText:
        """Return the text of a document.

        Raises:
            UnreadableDocumentError: when it cannot be read, or not within the limits.
            MissingExtraError: when the extra `rag` is not installed.
        """
        kind = "page" if media.kind is MediaKind.PAGE else "document"
        async with self._turn:
            try:
                header = {"kind": kind, "media_type": media.name}
                seconds = min(self._limits.seconds, current_deadline().remaining)
                answer = await self._process.ask(header, body, seconds)
            except StepTimeoutError as error:
                raise UnreadableDocumentError(f"reading it took more than {self._limits.seconds:g} seconds") from error
            except (OSError, EOFError, ValueError) as error:
                raise UnreadableDocumentError(
                    f"the parser broke down; it may need more memory than {self._limits.megabytes} megabytes"
                ) from error
        return _parse_answer(answer)


def _parse_answer(answer: dict[str, str]) -> ParsedText:
    if (missing := answer.get("missing")) is not None:
        raise MissingExtraError(f"Reading this document needs {missing}. {describe_install('rag')}")
    if (error := answer.get("error")) is not None:
        raise UnreadableDocumentError(error)
    return ParsedText(answer["text"], answer["title"])
