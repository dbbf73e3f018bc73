"""Errors that come inside an answer: with the status 200, or in the middle of a stream."""

from __future__ import annotations

from collections.abc import Mapping

from tactician.errors import ContextLengthError, ModelError, ModelRequestError, ModelServerError, RateLimitError
from tactician.llm.http import error_kind

# The codes of the OpenAI API reference, "Response object: error". Those that are not here blame the request.
_BY_CODE: Mapping[str, type[ModelError]] = {
    "rate_limit_exceeded": RateLimitError,
    "insufficient_quota": RateLimitError,
    "server_error": ModelServerError,
    "internal_error": ModelServerError,
    "vector_store_timeout": ModelServerError,
    "server_is_overloaded": ModelServerError,
    "context_length_exceeded": ContextLengthError,
}


def failure(error: object, model: str) -> ModelError:
    """The typed error for the `error` object of an answer; without a code, the provider's fault."""
    details = error if isinstance(error, dict) else {"message": error}
    code = details.get("code") or details.get("type")
    message = str(details.get("message") or error)[:300]
    if isinstance(code, int) and code >= 400:
        return error_kind(code)(f"{model}: {message}", model=model, status=code)
    kind = _BY_CODE.get(code, ModelRequestError) if isinstance(code, str) else ModelServerError
    return kind(f"{model}: {message}" + (f" ({code})" if code else ""), model=model)
