"""Collector of the mistakes in documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tactician.documents.data import DataPath, format_path
from tactician.documents.document import DataDocument
from tactician.errors import MOST_PROBLEMS, DocumentError, Problem

_LONGEST = 2_000
"""Characters of a message, of a path and of a name of a file."""


class Problems:
    """Mistakes in documents, each kept once, and at most a hundred of them.

    Lines are located when the mistakes are shown.

    Attributes:
        left_out: the number of mistakes after the hundredth.
    """

    def __init__(self, document: DataDocument | None = None) -> None:
        """Start without mistakes. Those that are added without a document are in `document`."""
        self.left_out = 0
        self._document = document
        self._problems: dict[tuple[int, DataPath, Problem], DataDocument | None] = {}

    def __bool__(self) -> bool:
        return bool(self._problems)

    def __iter__(self) -> Iterator[Problem]:
        for (_, path, problem), document in self._problems.items():
            yield problem if document is None else replace(problem, line=document.find_line(path))

    def add(
        self, message: str, *path: str | int, document: DataDocument | None = None, file: str | None = None
    ) -> None:
        """Add a mistake at a path of a document."""
        document = document or self._document
        problem = Problem(_shorten(format_path(path)), _shorten(message), None if file is None else _shorten(file))
        self._keep(problem, path, document)

    def add_all(self, problems: Iterable[tuple[DataPath, str]], document: DataDocument | None = None) -> None:
        """Add mistakes at their paths."""
        for path, message in problems:
            self.add(message, *path, document=document)

    def include(self, error: DocumentError, file: str | None = None) -> None:
        """Add the mistakes of another document's error."""
        for problem in error.problems:
            self._keep(replace(problem, file=problem.file or file), (), None)
        self.left_out += error.left_out

    def check(self, subject: str, kind: type[DocumentError] = DocumentError) -> None:
        """Raise an error when there are mistakes.

        Raises:
            DocumentError: of this class, with the mistakes.
        """
        if self:
            raise self.create_error(subject, kind)

    def create_error(self, subject: str, kind: type[DocumentError] = DocumentError) -> DocumentError:
        """Return an error with the mistakes."""
        return kind(subject, tuple(self), self.left_out)

    def _keep(self, problem: Problem, path: DataPath, document: DataDocument | None) -> None:
        key = id(document), path, problem
        if key in self._problems:
            return
        if len(self._problems) < MOST_PROBLEMS:
            self._problems[key] = document
        else:
            self.left_out += 1


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
