"""Readers of what people type, from a terminal or from a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from io import StringIO
from typing import TYPE_CHECKING, Protocol, TextIO, TypeAlias

from tactician.cli.console import is_terminal_input
from tactician.cli.shell.completion import Suggestion
from tactician.extras import require_extra

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

Suggest: TypeAlias = Callable[[str], Iterable[Suggestion]]


class LineReader(Protocol):
    """Reader of lines."""

    is_terminal: bool

    async def read(self, prompt: str) -> str:
        """Return the next line.

        Raises:
            EOFError: at the end of the input (Ctrl-D).
            KeyboardInterrupt: when a person gives up the line (Ctrl-C).
        """
        ...

    def ask(self, prompt: str) -> str:
        """Return the answer to a question, while nothing else is done.

        Raises:
            EOFError: when a person ends the input or interrupts it.
        """
        ...


class FileLines:
    """Reader of lines from a file or a pipe.

    Args:
        file: the file; standard input by default.
    """

    is_terminal = False

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdin or StringIO()  # a program may be started without a standard input

    async def read(self, prompt: str) -> str:
        """Return the next line."""
        return self.ask(prompt)

    def ask(self, prompt: str) -> str:
        """Return the next line."""
        line = self._file.readline()
        if not line:
            raise EOFError
        return line.removesuffix("\n")


class TerminalLines:
    """Reader of lines from a terminal, with completion and the lines that were typed before.

    Args:
        history: these lines, oldest first.
        suggest: function that yields completions of a text.

    Raises:
        MissingExtraError: when the extra `shell` is not installed.
    """

    is_terminal = True

    def __init__(self, history: Iterable[str] = (), suggest: Suggest | None = None) -> None:
        with require_extra("shell", "The shell needs"):
            from prompt_toolkit import PromptSession

        self._answers: PromptSession[str] = PromptSession()
        self._lines = _create_session(history, suggest)

    async def read(self, prompt: str) -> str:
        """Return the next line."""
        return await self._lines.prompt_async(prompt)

    def ask(self, prompt: str) -> str:
        """Return the answer to a question."""
        try:
            # In a thread, as an event loop runs in this one.
            return self._answers.prompt(prompt, in_thread=True)
        except KeyboardInterrupt:
            raise EOFError from None


def _create_session(history: Iterable[str], suggest: Suggest | None) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import InMemoryHistory

    class Suggestions(Completer):
        """Completions of the text before the cursor."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            """Yield them."""
            for completion in () if suggest is None else suggest(document.text_before_cursor):
                yield Completion(completion.text, -completion.replaced, display_meta=completion.meaning)

    return PromptSession(
        history=InMemoryHistory(list(history)),
        completer=Suggestions(),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
    )


def open_lines(history: Iterable[str], suggest: Suggest | None) -> LineReader:
    """Return a reader of standard input: with a line editor, if it is a terminal."""
    return TerminalLines(history, suggest) if is_terminal_input() else FileLines()
