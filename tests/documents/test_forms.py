"""Forms of documents have the fields of a runtime class, with its types, limits and defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from pydantic import ValidationError

from tactician.amounts import Count, Positive
from tactician.data_fields import CodeOnly
from tactician.documents.forms import form_of, list_form_fields
from tactician.documents.models import DocumentModel


@dataclass(frozen=True, kw_only=True)
class Oven:
    """Runtime class of these tests."""

    name: str
    degrees: Positive = 180
    minutes: Count | None = None
    trays: tuple[str, ...] = field(default=())
    on_ready: CodeOnly[Callable[[], None] | None] = None


class Keys(TypedDict, total=False):
    """Keyword arguments of these tests."""

    degrees: Positive


@form_of(Oven, names={"minutes": "bakes_for"})
class OvenForm(DocumentModel):
    """Oven in a document."""


@form_of(Oven, is_optional=True, without=("trays",))
class Change(DocumentModel):
    """Change of an oven."""

    degrees: float = 0.5


def test_a_form_has_the_fields_of_its_class_with_their_defaults() -> None:
    form: Any = OvenForm.model_validate({"name": "left"})
    assert dict(form) == {"name": "left", "degrees": 180, "bakes_for": None, "trays": ()}
    assert (OvenForm.__name__, OvenForm.__doc__, OvenForm.__module__) == ("OvenForm", "Oven in a document.", __name__)


@pytest.mark.parametrize("data", [{}, {"name": "x", "degrees": 0}, {"name": "x", "bakes_for": -1}, {"degreez": 1}])
def test_a_form_has_the_limits_of_its_class(data: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        OvenForm.model_validate(data)


def test_what_only_code_sets_is_in_no_form() -> None:
    assert "on_ready" not in OvenForm.model_fields
    with pytest.raises(ValidationError, match="no such field"):
        OvenForm.model_validate({"name": "left", "on_ready": "print"})


def test_a_field_that_the_form_declares_replaces_that_of_the_class_and_others_are_optional() -> None:
    assert dict(Change.model_validate({})) == {"degrees": 0.5, "name": None, "minutes": None}


def test_keys_of_a_typed_dict_are_fields_too() -> None:
    assert [field.name for field in list_form_fields(Keys)] == ["degrees"]


def test_a_field_that_the_class_does_not_have_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="Oven has no field 'tray'"):
        list_form_fields(Oven, without=("tray",))
