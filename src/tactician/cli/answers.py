"""What a text means as the answer to a request."""

from __future__ import annotations

from typing import Final

from pydantic_core import from_json

from tactician.errors import ResponseError
from tactician.runs import PendingRequest, Response, approve, reject

YES: Final = frozenset({"y", "yes", "true"})
NO: Final = frozenset({"n", "no", "false"})


def text_answer(text: str, request: PendingRequest) -> Response:
    """The answer that a text means. A form takes JSON as text, and says itself what is wrong with it.

    Raises:
        ResponseError: when a yes or no is wanted, and it is neither.
    """
    match request.kind:
        case "confirmation":
            return _agrees(text, request)
        case "approval":
            return approve() if _agrees(text, request) else reject()
        case "tool":
            return _json_of(text)
        case "form":
            return text


def _agrees(text: str, request: PendingRequest) -> bool:
    word = text.strip().lower()
    if word not in YES | NO:
        hint = "--approve or --reject REASON" if request.kind == "approval" else "yes or no"
        raise ResponseError(f"{request.id}: {text!r} is no answer to {request.prompt!r}: answer {hint}")
    return word in YES


def _json_of(text: str) -> object:
    try:
        return from_json(text)
    except ValueError:
        return text
