"""Documents of blueprints, and their limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tactician.blueprint.recovery import Recovery
from tactician.documents.data import DataPath, DocumentLimits
from tactician.documents.document import FORMATS as ALL_FORMATS
from tactician.documents.document import DataDocument, Format, load_document, make_document, read_document
from tactician.errors import BlueprintError, DocumentError, Problem
from tactician.frozen import frozen


@frozen(kw_only=True)
class Limits(DocumentLimits):
    """Limits on reading and building.

    Attributes:
        size: characters of a file, and of all that it names together, each counted as often as it is named.
        depth: depth of nested objects and lists, with the depths of referencing files.
        values: objects, lists and values in a file, those that YAML's aliases repeat counted each time; and in all
            files that it names together, as for `size`.
        nodes: agents and constellations, the agents of other files included.
    """

    nodes: int = 5_000


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class LimitUsage:
    """Usage of the limits by referenced files."""

    size: int = 0
    values: int = 0

    def add(self, size: int, values: int, limits: Limits) -> str | None:
        """Add a file, and return a problem once a limit is exceeded."""
        self.size += size
        self.values += values
        if self.size > limits.size:
            return f"with it, the files that are named have more than {limits.size:,} characters"
        if self.values > limits.values:
            return f"with it, the files that are named have more than {limits.values:,} values"
        return None


FORMATS: dict[str, Format] = {ending: kind for ending, kind in ALL_FORMATS.items() if kind != "toml"}


@frozen(enforced=False)
class Origin:
    """Document of a blueprint, with the repairs of its data.

    Attributes:
        document: the document.
        mending: the repairs.
        is_own: True for a blueprint that the program made, without a document.
    """

    document: DataDocument
    mending: Recovery | None = None
    is_own: bool = False

    @classmethod
    def from_file(cls, file: Path, limits: Limits) -> Origin:
        """Load a file.

        Raises:
            BlueprintError: when it cannot be read, is too large, or is neither JSON nor YAML by its name.
        """
        if file.suffix.lower() not in FORMATS:
            why = f"a blueprint is a file that ends in {', '.join(FORMATS)}"
            raise BlueprintError(_describe_subject(file), [Problem("", why)])
        try:
            return cls(load_document(file, limits))
        except DocumentError as error:
            raise BlueprintError(_describe_subject(file), error.problems) from error

    @classmethod
    def from_text(cls, text: str, format: Format, limits: Limits) -> Origin:
        """Parse a text.

        Raises:
            BlueprintError: when it is not of the format, or too large.
        """
        try:
            return cls(read_document(text, format, limits))
        except DocumentError as error:
            raise BlueprintError(NOWHERE.subject, error.problems) from error

    @classmethod
    def from_data(cls, data: object, limits: Limits) -> Origin:
        """Return the document of data that a program created.

        Raises:
            BlueprintError: when it has no JSON form, or is too large.
        """
        try:
            return cls(make_document(data, limits))
        except DocumentError as error:
            raise BlueprintError(NOWHERE.subject, error.problems) from error

    @property
    def file(self) -> Path | None:
        """The file, or `None`."""
        return self.document.file

    @property
    def is_trusted(self) -> bool:
        """True for a file of this machine, and for a blueprint that the program made; text may come from anybody."""
        return self.is_own or self.file is not None

    @property
    def subject(self) -> str:
        """The subject of errors."""
        return _describe_subject(self.file)

    def find(self, path: DataPath) -> DataPath | None:
        """Return the position of a path in the text; `None` when it has none, or for a known mistake."""
        if self.mending is None:
            return path
        before = self.mending.find_original_path(path)
        return None if self.mending.is_reported(before) else before


NOWHERE = Origin(DataDocument(None), is_own=True)


def _describe_subject(file: Path | None) -> str:
    return "The blueprint is wrong" if file is None else f"The blueprint {file} is wrong"
