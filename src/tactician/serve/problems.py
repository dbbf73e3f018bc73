"""Errors as JSON responses: `{"error": {"type": ..., "message": ...}}` with the status that fits."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse

from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    ConversationConflictError,
    ConversationNotFoundError,
    DeclarationError,
    MeshUnavailableError,
    ModelError,
    RequestRejectedError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
    StoreError,
    TacticianError,
)
from tactician.guardrails import GuardrailError
from tactician.secrets import mask_secrets
from tactician.text import describe_error


class ApiError(TacticianError):
    """Error of a caller, with the status of its response."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers
        super().__init__(message)


_STATUSES: Final[tuple[tuple[type[TacticianError], int], ...]] = (
    (RunNotFoundError, 404),
    (AgentNotFoundError, 404),
    (ConversationNotFoundError, 404),
    (RunConflictError, 409),
    (ConversationConflictError, 409),
    (ResponseError, 422),
    (StoredStateError, 422),
    (DeclarationError, 422),
    (ConfigurationError, 422),
    (StoreError, 503),
    (ModelError, 502),
    (MeshUnavailableError, 503),
)
_REJECTIONS: Final = {
    "at_capacity": 429,
    "unknown_capability": 404,
    "not_allowed": 403,
    "too_large": 413,
    "disabled": 503,
    "draining": 503,
    "deadline": 503,
}
"""Statuses of requests that a node of a mesh refuses, by the reason; 422 for all others."""


def find_status(error: Exception) -> int:
    """Return the HTTP status for an error; 500 for errors of runs, and for those that nobody has foreseen."""
    if isinstance(error, ApiError):
        return error.status
    if isinstance(error, GuardrailError) and error.refuses_input:
        return 422  # what the caller sends is refused, and would be again
    if isinstance(error, RequestRejectedError):
        return _REJECTIONS.get(error.reason, 422)
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def describe_failure(error: Exception) -> tuple[str, str]:
    """Return the kind of an error and its masked message, also of an error that nobody has foreseen."""
    message = mask_secrets(str(error) if isinstance(error, TacticianError) else describe_error(error))
    return "RequestError" if isinstance(error, ApiError) else type(error).__name__, message


def describe_problem(error: Exception) -> JSONResponse:
    """Return the response for an error."""
    kind, message = describe_failure(error)
    body = {"error": {"type": kind, "message": message}}
    return JSONResponse(body, find_status(error), _find_headers(error))


def _find_headers(error: Exception) -> dict[str, str] | None:
    if isinstance(error, RequestRejectedError) and error.retry_after is not None:
        return {"retry-after": f"{max(1, round(error.retry_after))}"}
    return error.headers if isinstance(error, ApiError) else None
