"""Where a blueprint comes from: its text, its file, and the lines of what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Literal, TypeAlias, TypeVar

from pydantic import ValidationError

from tactician.blueprint.json_lines import lines_of_json
from tactician.blueprint.limits import Limits
from tactician.blueprint.parts import mistakes_of
from tactician.blueprint.places import Path, line_of, written
from tactician.blueprint.texts import Data, Unreadable, from_json
from tactician.blueprint.yaml_texts import from_yaml, lines_of
from tactician.errors import BlueprintError, Problem
from tactician.files import beginning_of

T = TypeVar("T")
Format: TypeAlias = Literal["json", "yaml"]
FORMATS: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Origin:
    """A text, in JSON or YAML, its file if it has one, and whether somebody has seen its lines."""

    text: str = field(repr=False)
    format: Format
    file: File | None = None
    has_lines: bool = True

    @classmethod
    def of(cls, file: File, limits: Limits) -> Origin:
        """That of a file.

        Raises:
            BlueprintError: when it cannot be read, is too large, or neither JSON nor YAML by its name.
        """
        if (named := FORMATS.get(file.suffix.lower())) is None:
            raise _unreadable(file, f"a blueprint is a file that ends in {', '.join(FORMATS)}")
        try:
            return cls(beginning_of(file, limits.size), named, file)
        except (UnicodeDecodeError, ValueError) as error:
            raise _unreadable(file, "it is not UTF-8") from error
        except OSError as error:
            raise _unreadable(file, f"it cannot be read: {error.strerror}") from error

    @property
    def subject(self) -> str:
        """How errors call it."""
        return "The blueprint is wrong" if self.file is None else f"The blueprint {self.file} is wrong"

    def data(self, limits: Limits) -> Data:
        """The data in the text.

        Raises:
            Unreadable: when it has none.
        """
        return (from_json if self.format == "json" else from_yaml)(self.text, limits)

    def read(self, validate: Callable[[Data], T], limits: Limits) -> T:
        """What `validate` makes of the data in the text.

        Raises:
            BlueprintError: with every mistake, each with its path and line.
        """
        try:
            return validate(self.data(limits))
        except Unreadable as error:
            raise BlueprintError(self.subject, [error.problem]) from error
        except ValidationError as error:
            raise BlueprintError(self.subject, self.problems(mistakes_of(error).items(), limits)) from error

    def problems(self, found: Iterable[tuple[Path, str]], limits: Limits, file: str | None = None) -> list[Problem]:
        """What was found at these paths, with its lines."""
        lines = self._lines(limits) if self.has_lines else {}
        return [Problem(written(path), message, file, line_of(path, lines)) for path, message in found]

    def _lines(self, limits: Limits) -> Mapping[Path, int]:
        return lines_of_json(self.text) if self.format == "json" else lines_of(self.text, limits)


NOWHERE = Origin("", "json")


def _unreadable(file: File, why: str) -> BlueprintError:
    return BlueprintError(f"The blueprint {file} is wrong", [Problem("", why)])
