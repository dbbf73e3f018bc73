"""Pydantic models of documents: what they have in common, and their mistakes in the words of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from tactician.documents.data import Data, DataPath
from tactician.documents.document import DataDocument
from tactician.documents.problems import Problems
from tactician.documents.suggestions import find_closest_spelling
from tactician.errors import MOST_PROBLEMS, DocumentError

T = TypeVar("T")
_UNKNOWN = "there is no such field"
_NOT_AN_ARRAY = "Input should be a valid array"
_NOT_AN_OBJECT = "Input should be a valid object"
_JSON_WORDS = {
    "extra_forbidden": _UNKNOWN,
    "tuple_type": _NOT_AN_ARRAY,
    "list_type": _NOT_AN_ARRAY,
    "dict_type": _NOT_AN_OBJECT,
    "model_type": _NOT_AN_OBJECT,
}


class DocumentModel(BaseModel):
    """An object in a document. `null` is the same as nothing, and an unknown field is a mistake.

    Attributes:
        cutoff: how similar a known field is that a mistake suggests, from 0 to 1.
        refuses_misspelled: `True` for a model with `extra="ignore"` that passes unknown fields over, but for those that
            are similar to a known one.
    """

    # Built when first used: a program that reads documents of one kind does not pay for the others.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    cutoff: ClassVar[float] = 0.7
    refuses_misspelled: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Say of an unknown field which one was meant."""
        if not isinstance(value, dict):
            return handler(value)
        wrong = _find_misspelled(cls, value) if cls.refuses_misspelled else []
        try:
            made = handler({name: one for name, one in value.items() if one is not None})
        except ValidationError as error:
            wrong += _explain_all(cls, error)
            raise ValidationError.from_exception_data(cls.__name__, wrong) from None
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return made


def list_mistakes(error: ValidationError) -> dict[DataPath, str]:
    """Return what is wrong, by its path."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return {one["loc"]: _say(one) for one in found}


def validate_document(
    document: DataDocument, validate: Callable[[Data], T], subject: str, kind: type[DocumentError] = DocumentError
) -> T:
    """Return what `validate` makes of the data of a document.

    Args:
        document: the document.
        validate: such as the method `model_validate` of a model.
        subject: what the error calls wrong.
        kind: the class of the error.

    Raises:
        DocumentError: with the mistakes, each with its path and line.
    """
    try:
        return validate(document.data)
    except ValidationError as error:  # an exception that holds values
        problems = explain_validation(document, error)
    raise problems.error(subject, kind)


def explain_validation(document: DataDocument, error: ValidationError) -> Problems:
    """Return what is wrong with the data of a document."""
    problems = Problems(document)
    problems.add_all(list_mistakes(error).items())
    return problems


def _explain_all(kind: type[DocumentModel], error: ValidationError) -> list[InitErrorDetails]:
    """Return the mistakes in an object, without those that follow from others."""
    found = error.errors(include_url=False, include_context=False)
    # In a list, items with mistakes in them are not counted: so it need not be too short.
    real = [one for one in found if one["type"] != "too_short" or not _is_around(one["loc"], found)]
    return [_detail(one["loc"], _explain_one(kind, one, number), one["input"]) for number, one in enumerate(real)]


def _explain_one(kind: type[DocumentModel], error: ErrorDetails, number: int) -> str:
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1 and number < MOST_PROBLEMS:
        return _unknown(find_closest_spelling(str(error["loc"][0]), _names(kind), kind.cutoff))
    return _say(error)


def _find_misspelled(kind: type[DocumentModel], value: Mapping[str, object]) -> list[InitErrorDetails]:
    known, found = set(_names(kind)), list[InitErrorDetails]()
    for name in value:
        if len(found) == MOST_PROBLEMS:
            break
        if name not in known and (meant := find_closest_spelling(name, known, kind.cutoff)) is not None:
            found.append(_detail((name,), _unknown(meant), value[name]))
    return found


def _names(kind: type[DocumentModel]) -> Iterable[str]:
    return (field.alias or name for name, field in kind.model_fields.items())


def _unknown(meant: str | None) -> str:
    return f"{_UNKNOWN}{f'; did you mean {meant!r}?' if meant else ''}"


def _say(error: ErrorDetails) -> str:
    return _JSON_WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))


def _detail(path: DataPath, message: str, value: object) -> InitErrorDetails:
    # Braces in a message are no placeholders.
    kind = PydanticCustomError("problem", "{message}", {"message": message})
    return InitErrorDetails(type=kind, loc=path, input=value)


def _is_around(path: DataPath, found: Sequence[ErrorDetails]) -> bool:
    return any(len(one["loc"]) > len(path) and one["loc"][: len(path)] == path for one in found)
