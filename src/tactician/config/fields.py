"""Types and defaults of settings."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from tactician.documents.models import DocumentModel

M = TypeVar("M", bound=DocumentModel)
Dollars: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Above: TypeAlias = Annotated[float, Field(gt=0)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
Factor: TypeAlias = Annotated[float, Field(ge=1)]


def create_table(kind: type[M]) -> M:
    """Return a field whose default is a table of defaults, which is not validated: that takes 20 ms at the start."""
    default: M = Field(default_factory=kind.model_construct)
    return default
