"""Texts as answers to requests."""

from __future__ import annotations

from typing import Final

from pydantic_core import from_json

from tactician.errors import ResponseError
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Response

YES: Final = frozenset({"y", "yes", "true"})
NO: Final = frozenset({"n", "no", "false"})


def parse_answer_text(text: str, request: PendingRequest) -> Response:
    """Return the answer in a text. A form takes JSON as text, and reports its own mistakes.

    Raises:
        ResponseError: when the question takes yes or no, and it is neither.
    """
    match request.kind:
        case "confirmation":
            return _parse_yes_or_no(text, request)
        case "approval":
            return approve() if _parse_yes_or_no(text, request) else reject()
        case "tool" | "reply":
            return _parse_json(text)
        case "form":
            return text


def _parse_yes_or_no(text: str, request: PendingRequest) -> bool:
    word = text.strip().lower()
    if word not in YES | NO:
        hint = "--approve or --reject REASON" if request.kind == "approval" else "yes or no"
        raise ResponseError(f"{request.id}: {text!r} is not an answer to {request.prompt!r}: answer {hint}")
    return word in YES


def _parse_json(text: str) -> object:
    try:
        return from_json(text)
    except ValueError:
        return text
