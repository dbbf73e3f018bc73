"""Base of the Pydantic models of documents, and messages for their mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, to_json

from tactician.documents.data import Data, DataPath
from tactician.documents.document import DataDocument
from tactician.documents.problems import Problems
from tactician.documents.variables import find_variable
from tactician.errors import MOST_PROBLEMS, DocumentError
from tactician.suggestions import find_closest_spelling

T = TypeVar("T")
_MOST_KEPT = 1_000
"""How many mistakes inside of it an object tells the object around it, which looks at all of them again."""
_LEFT_OUT: Final = "left_out"
_UNKNOWN = "there is no such field"
_QUOTED = re.compile(r"'([^']{1,100})'")
_NOT_AN_ARRAY = "Input should be a valid array"
_NOT_AN_OBJECT = "Input should be a valid object"
_JSON_WORDS = {
    "extra_forbidden": _UNKNOWN,
    "tuple_type": _NOT_AN_ARRAY,
    "list_type": _NOT_AN_ARRAY,
    "dict_type": _NOT_AN_OBJECT,
    "model_type": _NOT_AN_OBJECT,
}
NOT_BLANK: Final = r"\S"
"""Pattern of a text that is not blank."""
_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


class DocumentModel(BaseModel):
    """Object in a document. `null` means a missing field, and an unknown field is a mistake.

    Attributes:
        cutoff: the similarity, from 0 to 1, from which a mistake suggests a known field.
        refuses_misspelled: `True` for a model with `extra="ignore"` that ignores unknown fields, except those that
            are similar to a known name.
    """

    # Built when first used: a program that reads documents of a certain kind does not pay for the others.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    cutoff: ClassVar[float] = 0.7
    refuses_misspelled: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Add a suggestion to the mistake of an unknown field."""
        if not isinstance(value, dict):
            return handler(value)
        wrong = _find_misspelled(cls, value) if cls.refuses_misspelled else []
        try:
            model = handler({name: item for name, item in value.items() if item is not None})
        except ValidationError as error:
            if not wrong and error.error_count() <= _MOST_KEPT and value.keys() <= set(_names(cls)):
                raise
            raise ValidationError.from_exception_data(cls.__name__, [*wrong, *_explain_all(cls, error)]) from None
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return model


def list_mistakes(error: ValidationError) -> dict[DataPath, str]:
    """Return the mistakes by their paths."""
    details = _drop_consequences(error.errors(include_url=False))
    return {detail["loc"]: _say(detail) for detail in details if detail["type"] != _LEFT_OUT}


def validate_document(
    document: DataDocument, validate: Callable[[Data], T], subject: str, kind: type[DocumentError] = DocumentError
) -> T:
    """Return the result of `validate` for the data of a document.

    Args:
        document: the document.
        validate: a function such as the method `model_validate` of a model.
        subject: the beginning of the error's message.
        kind: the class of the error.

    Raises:
        DocumentError: with the mistakes, each with its path and line.
    """
    try:
        return validate(document.data)
    except ValidationError as error:  # an exception that holds values
        problems = explain_validation(document, error)
    raise problems.create_error(subject, kind)


def explain_validation(document: DataDocument, error: ValidationError) -> Problems:
    """Return the mistakes in the data of a document."""
    problems = Problems(document)
    problems.add_all(list_mistakes(error).items())
    problems.left_out += sum(map(_count_left_out, error.errors(include_url=False, include_input=False)))
    return problems


def _explain_all(kind: type[DocumentModel], error: ValidationError) -> list[InitErrorDetails]:
    """Return the mistakes in an object, with suggestions; of very many, the first and the number of others."""
    mistakes = _drop_consequences(error.errors(include_url=False))
    shown, others = mistakes[:_MOST_KEPT], mistakes[_MOST_KEPT:]
    details = [_explain_one(kind, detail) for detail in shown if detail["type"] != _LEFT_OUT]
    if count := sum(map(_count_left_out, mistakes)) + sum(detail["type"] != _LEFT_OUT for detail in others):
        more = PydanticCustomError(_LEFT_OUT, "and {count} more", {"count": count})
        details.append(InitErrorDetails(type=more, loc=(), input=None))
    return details


def _drop_consequences(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the mistakes without lists that are too short only because of mistakes in their items."""
    short = {detail["loc"] for detail in errors if detail["type"] == "too_short"}
    parent_paths = (
        {path for detail in errors for path in _paths_around(detail["loc"]) if path in short} if short else short
    )
    return [detail for detail in errors if detail["type"] != "too_short" or detail["loc"] not in parent_paths]


def _explain_one(kind: type[DocumentModel], error: ErrorDetails) -> InitErrorDetails:
    path, message = error["loc"], _say(error)
    if error["type"] == "extra_forbidden" and len(path) == 1:
        message = _unknown(find_closest_spelling(str(path[0]), _names(kind), kind.cutoff))
    return _detail(path, message, error["input"])


def _count_left_out(error: ErrorDetails) -> int:
    return int(error["ctx"]["count"]) if error["type"] == _LEFT_OUT else 0


def _find_misspelled(kind: type[DocumentModel], value: Mapping[str, object]) -> list[InitErrorDetails]:
    field_names, errors = set(_names(kind)), list[InitErrorDetails]()
    for name in value:
        if len(errors) == MOST_PROBLEMS:
            break
        if name not in field_names and (meant := find_closest_spelling(name, field_names, kind.cutoff)) is not None:
            errors.append(_detail((name,), _unknown(meant), value[name]))
    return errors


def _names(kind: type[DocumentModel]) -> Iterable[str]:
    return (field.alias or name for name, field in kind.model_fields.items())


def _unknown(meant: str | None) -> str:
    return f"{_UNKNOWN}{f'; did you mean {meant!r}?' if meant else ''}"


def _say(error: ErrorDetails) -> str:
    message = _JSON_WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    value = error.get("input")
    if isinstance(value, int | float) and error["type"] in _BOUNDS:
        return f"{message}, got: {to_json(value).decode()}"
    if not isinstance(value, str):
        return message
    if error["type"] == "string_pattern_mismatch" and error["ctx"]["pattern"] == NOT_BLANK:
        return "it must not be blank"
    if message in (_NOT_AN_ARRAY, _NOT_AN_OBJECT) and find_variable(value) is not None:
        return f"{message}, for which a variable cannot stand"
    if error["type"] not in ("literal_error", "enum"):
        return message
    meant = find_closest_spelling(value, _QUOTED.findall(message))
    return message if meant is None else f"{message}; did you mean {meant!r}?"


def _detail(path: DataPath, message: str, value: object) -> InitErrorDetails:
    # Braces in a message are not placeholders.
    error = PydanticCustomError("problem", "{message}", {"message": message})
    return InitErrorDetails(type=error, loc=path, input=value)


def _paths_around(path: DataPath) -> Iterator[DataPath]:
    return (path[:length] for length in range(len(path)))
