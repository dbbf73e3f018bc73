"""Parser of documents of others, in a child process with limits of time and memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Final, Self

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import MissingExtraError
from tactician.flow import StepTimeoutError, run_with_timeout
from tactician.frozen import frozen
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.media_types import MediaKind, MediaType
from tactician.rag.parser_program import ANSWER, REQUEST

_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR", "TEMP")
_MAX_ANSWER: Final = 200_000_000


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
        self._clock = clock
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def parse(self, body: bytes, media: MediaType) -> ParsedText:
        """Return the text of a document.

        Raises:
            UnreadableDocumentError: when it cannot be read, or not within the limits.
            MissingExtraError: when the extra `rag` is not installed.
        """
        async with self._turn:
            try:
                exchange = self._exchange(body, media)
                answer = await run_with_timeout(exchange, self._limits.seconds, self._clock, "the parser")
            except StepTimeoutError as error:
                await self._stop()
                raise UnreadableDocumentError(f"reading it took more than {self._limits.seconds:g} seconds") from error
            except (OSError, EOFError, ValueError) as error:
                await self._stop()
                raise UnreadableDocumentError(
                    f"the parser broke down; it may need more memory than {self._limits.megabytes} megabytes"
                ) from error
            except BaseException:
                await self._stop()
                raise
        return _parse_answer(answer)

    async def _exchange(self, body: bytes, media: MediaType) -> dict[str, str]:
        process = await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        kind = "page" if media.kind is MediaKind.PAGE else "document"
        header = json.dumps({"kind": kind, "media_type": media.name}).encode()
        process.stdin.write(REQUEST.pack(len(header), len(body)) + header)
        process.stdin.write(body)
        await process.stdin.drain()
        (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
        if length > _MAX_ANSWER:
            raise ValueError("the answer is too long")
        answer: dict[str, str] = json.loads(await process.stdout.readexactly(length))
        return answer

    async def _start(self) -> Process:
        if self._process is None:
            environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "tactician.rag.parser_program", str(self._limits.megabytes)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=environment,
            )
        return self._process

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await asyncio.shield(process.communicate())


def _parse_answer(answer: dict[str, str]) -> ParsedText:
    if (missing := answer.get("missing")) is not None:
        raise MissingExtraError(f'Reading this document needs {missing}. Run: pip install "tactician[rag]"')
    if (error := answer.get("error")) is not None:
        raise UnreadableDocumentError(error)
    return ParsedText(answer["text"], answer["title"])
