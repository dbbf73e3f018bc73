"""Version of the form in which runs are stored, so that what a newer program has saved is refused, and not misread."""

from __future__ import annotations

from typing import Annotated, Final, Protocol, TypeAlias, TypeVar

import pydantic
from pydantic_core import CoreSchema, core_schema, from_json

from tactician.errors import StoredStateError

STORED_FORMAT: Final = 1
"""Version of all that is stored of a run: steps, snapshots, and headers of records, with all checkpoints in them.

Increase it when an older program would misread what this program writes. New fields with defaults need no new version:
readers leave out what they do not know.
"""


class _Version:
    def __get_pydantic_core_schema__(self, source: object, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.int_schema(strict=True, ge=1)


Format: TypeAlias = Annotated[int, _Version()]
"""Version of the form that something was read from; 1 where it does not say."""


class _Stored(Protocol):
    @property
    def format(self) -> int: ...


S = TypeVar("S", bound=_Stored)


def read_stored(text: str, adapter: pydantic.TypeAdapter[S], subject: str) -> S:
    """Return what was stored as JSON.

    Args:
        text: untrusted JSON.
        adapter: adapter of the type that it must be of.
        subject: name of it in errors, such as `"The state of the run"`.

    Raises:
        StoredStateError: when it is not valid, or a newer program has saved it.
    """
    try:
        stored = adapter.validate_json(text)
    except pydantic.ValidationError as error:
        _check_format(_find_format(text), subject)
        raise StoredStateError(f"{subject} cannot be read: {error}") from error
    _check_format(stored.format, subject)
    return stored


def _find_format(text: str) -> object:
    """Return what a text that is not valid says about its version."""
    try:
        saved = from_json(text)
    except ValueError:
        return None
    return saved.get("format") if isinstance(saved, dict) else None


def _check_format(version: object, subject: str) -> None:
    if type(version) is int and version > STORED_FORMAT:
        raise StoredStateError(
            f"{subject} cannot be read: a newer Tactician has saved it, in version {version} of the stored format, "
            f"and this program knows version {STORED_FORMAT}. Continue the run with that Tactician, or upgrade."
        )
