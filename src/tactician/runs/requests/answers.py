"""Answers as they are stored: an object reads back equal as the type that was asked for, or is refused at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Union, cast, get_args

import pydantic
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.runs.outcomes.suspension import Approval, PendingRequest, ReportedError, Response
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.runs.requests.respondents import NOBODY, Respondent, record_authors, record_key
from tactician.runs.values.stored_values import decode_value, encode_value

_ASKED_BY_TYPE: Final = frozenset({"form", "confirmation"})
"""Kinds of requests whose answers become objects; all others become text for a model."""
_KEY: Final = "@responses"
"""Key of the checkpoint inside the outermost checkpoint; the answers are there by the ids of their requests."""


@frozen
class StoredAnswer:
    """Answer as it was stored: only the code that asked for it knows its type.

    Attributes:
        text: the object as text, as the answer to a tool call.
        value: its JSON form; `None` when it has none that reads back equal.
        kind: name of its type.
    """

    text: str
    value: pydantic.JsonValue = None
    kind: str | None = None

    def restore(self, expected: object) -> object:
        """Return the object.

        Args:
            expected: type that was asked for.

        Raises:
            StoredStateError: when the object would be read back differently.
        """
        read = decode_value(self.value, expected)
        if (described := _describe(_find_type(read))) != self.kind:
            raise StoredStateError(
                f"it is {add_article(self.kind or 'value')}, and would be read as {add_article(described)}: "
                "pass it as JSON"
            )
        return read


def check_response(request: PendingRequest, response: Response) -> None:
    """Check that an answer can be stored.

    Raises:
        StoredStateError: when the answer would not be read back equal.
    """
    remedy = ""
    try:
        saved = _encode(response)
        if request.kind in _ASKED_BY_TYPE and saved.keys() == {"text"}:
            remedy = " Or answer with JSON, in the shape of the form."
            _encode_object(response)
    except StoredStateError as refusal:
        raise StoredStateError(f"The answer to {request.id!r}: {refusal}{remedy}") from refusal


def save_response(response: Response) -> Live[Response]:
    """Return an answer as a value of a checkpoint."""
    return Live(response, _encode)


def restore_response(saved: object) -> Response:
    """Return the answer that `save_response` made a value of a checkpoint.

    An error becomes a `ReportedError`, and an object a `StoredAnswer`.
    """
    return revive(saved, _decode)


def _encode(response: Response) -> Mapping[str, object]:
    match response:
        case Exception():
            return {"error": f"{type(response).__name__}: {response}"}
        case Approval() | {"granted": _}:  # a decision, as an object or as JSON
            return {"value": to_jsonable_python(response, fallback=str)}
        case StoredAnswer(text, None, None):
            return {"text": text}
        case StoredAnswer(text, value, kind):
            return {"text": text, "object": value, "type": kind}
    try:
        return {"value": encode_value(response, object)}
    except StoredStateError:
        text = _to_text(response)
    try:
        return {"text": text, **_encode_object(response)}
    except StoredStateError:
        return {"text": text}


def _encode_object(response: Response) -> Mapping[str, object]:
    """Return the JSON form of an object, and its type.

    Raises:
        StoredStateError: when it would not be read back equal.
    """
    kind = _find_type(response)
    return {"object": encode_value(response, kind), "type": _describe(kind)}


def _to_text(response: Response) -> str:
    """Return an object as text, as a model reads the result of a tool.

    Raises:
        StoredStateError: when it has a text that is not valid.
    """
    try:
        return to_json(response, fallback=str).decode()
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        encode_value(response)  # which says what is wrong, and where
        raise


def _decode(saved: object) -> Response:
    match saved:
        case {"error": error}:
            return ReportedError(str(error))
        case {"text": str(text), **rest}:
            kind = rest.get("type")
            value = cast("pydantic.JsonValue", rest.get("object"))
            return StoredAnswer(text, value, kind if isinstance(kind, str) else None)
        case {"value": value}:
            return value
    raise StoredStateError("An answer in the saved state of a run cannot be read: its form is unknown.")


def _find_type(value: object) -> object:
    """Return the type of a value; of a list, a tuple, a set or a dictionary, with the types of what is in it."""
    kind = type(value)
    match value:
        case dict() if value and kind is dict:
            return dict[_join(value), _join(value.values())]  # type: ignore[misc]  # known at run time only
        case list() | set() | frozenset() if value and kind in (list, set, frozenset):
            return kind[_join(value)]
        case tuple() if value and kind is tuple:
            return tuple[*map(_find_type, value)]  # type: ignore[misc]
    return kind


def _join(values: Iterable[object]) -> object:
    types = dict.fromkeys(map(_find_type, values))
    return Union[tuple(sorted(types, key=_describe))]  # noqa: UP007 - known at run time only


def _describe(kind: object) -> str:
    """Return the name of a type, without modules, which differ between a script that runs and its import."""
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", "Union")
    parts = get_args(kind)
    return f"{name}[{', '.join(map(_describe, parts))}]" if parts else str(name)


def record_responses(
    tree: Checkpoint,
    responses: Mapping[str, Response],
    pending: Iterable[PendingRequest],
    respondent: Respondent = NOBODY,
) -> None:
    """Set answers in the checkpoint of a run; the next step that is saved has them, and who gave them.

    Args:
        tree: checkpoint of the outermost run.
        responses: the answers, by the ids of their requests.
        pending: the requests that the run waits for.
        respondent: who answers.

    Raises:
        StoredStateError: when the run is saved, and an answer would not be read back equal.
    """
    if tree.journal is not None:
        for request in pending:
            if request.id in responses:
                check_response(request, responses[request.id])
    if responses:
        tree.at(_KEY).set(**{request_id: save_response(response) for request_id, response in responses.items()})
        record_authors(tree, responses, respondent.name)
        record_key(tree, responses, respondent.key)


def mark_answered(pending: Iterable[PendingRequest], responses: Mapping[str, Response]) -> tuple[PendingRequest, ...]:
    """Return requests, with a mark at those that some answers belong to."""
    return tuple(request.mark_answered() if request.id in responses else request for request in pending)


def collect_responses(tree: Checkpoint, pending: Iterable[PendingRequest], now: float) -> dict[str, Response]:
    """Return the answers that count when a run continues, by the ids of their requests.

    An earlier answer does not count when its request is pending again: it was refused. Then, as without any answer, the
    default counts once the deadline has passed.

    Args:
        tree: checkpoint of the outermost run.
        pending: the requests that the run waits for.
        now: seconds since the epoch.
    """
    open_requests = {request.id: request for request in pending if not request.is_answered}
    overdue = {name: request.default for name, request in open_requests.items() if request.is_overdue(now)}
    remaining = {name: saved for name, saved in tree.at(_KEY).data.items() if name not in open_requests}
    return overdue | {name: restore_response(saved) for name, saved in remaining.items()}


def describe_answers(request_ids: Iterable[str], respondent: Respondent) -> str:
    """Return which requests have an answer, and of whom if that is known, for people."""
    names = ", ".join(request_ids)
    return names if not names or respondent.name is None else f"{names}, by {respondent.name}"
