"""Classes of Pydantic models, told from others without loading what Pydantic needs to define models."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pydantic

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def is_model_class(kind: type) -> TypeIs[type[pydantic.BaseModel]]:
    """Return True for the class of a model; no such class exists before its base class is loaded."""
    return "pydantic.main" in sys.modules and issubclass(kind, pydantic.BaseModel)


def is_model(value: object) -> TypeIs[pydantic.BaseModel]:
    """Return True for an instance of a model."""
    return is_model_class(type(value))
