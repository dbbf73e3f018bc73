"""Helpers of the response decoders: untrusted JSON values, and errors inside an answer.

An answer can carry an error with the status 200, or in the middle of a stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tactician.errors import ContextLengthError, ModelError, ModelRequestError, ModelServerError, RateLimitError
from tactician.llm.http_errors import find_error_class

_TOO_MANY = 10**15


def expect_string(value: object) -> str:
    """Return the value as a string, or raise `TypeError`."""
    if isinstance(value, str):
        return value
    raise TypeError(f"a string is needed, not {str(value)[:100]!r}")


def expect_mapping(value: object) -> Mapping[str, object]:
    """Return the value as a JSON object, or raise `TypeError`."""
    if isinstance(value, dict):
        return value
    raise TypeError(f"a JSON object is needed, not {type(value).__name__}")


def expect_mappings(value: object) -> Sequence[Mapping[str, object]]:
    """Return the value as a list of JSON objects, or raise `TypeError`."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list is needed, not {type(value).__name__}")
    for item in value:
        if not isinstance(item, dict):
            expect_mapping(item)
    return value


def expect_count(value: object) -> int:
    """Return the value as a number of tokens, 0 if it is missing, or raise `TypeError`."""
    if value is None:
        return 0
    if type(value) is int and 0 <= value < _TOO_MANY:
        return value
    if isinstance(value, int | float) and value == value and abs(value) < _TOO_MANY:
        return max(0, int(value))
    raise TypeError(f"a number of tokens is needed, not {str(value)[:100]!r}")


def expect_counts(values: Mapping[str, object], *names: str) -> list[int]:
    """Return the numbers of tokens under these names, 0 for each that is missing, or raise `TypeError`."""
    counts = []
    for name in names:
        value = values.get(name)
        if type(value) is not int or not 0 <= value < _TOO_MANY:  # nearly never
            value = expect_count(value)
        counts.append(value)
    return counts


# The codes of the OpenAI API reference, "Response object: error". Those that are not here blame the request.
_OPENAI_CODES: Mapping[str, type[ModelError]] = {
    "rate_limit_exceeded": RateLimitError,
    "insufficient_quota": RateLimitError,
    "server_error": ModelServerError,
    "internal_error": ModelServerError,
    "vector_store_timeout": ModelServerError,
    "server_is_overloaded": ModelServerError,
    "context_length_exceeded": ContextLengthError,
}
# The status that goes with an error in a stream of Anthropic's: the reference's page "Errors".
_ANTHROPIC_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def create_openai_error(error: object, model: str) -> ModelError:
    """Return the typed error for the `error` object of an answer. Without a code, the provider is to blame."""
    details = error if isinstance(error, dict) else {"message": error}
    code = details.get("code") or details.get("type")
    message = str(details.get("message") or error)[:300]
    if isinstance(code, int) and code >= 400:
        return find_error_class(code)(f"{model}: {message}", model=model, status=code)
    kind = _OPENAI_CODES.get(code, ModelRequestError) if isinstance(code, str) else ModelServerError
    return kind(f"{model}: {message}" + (f" ({str(code)[:100]})" if code else ""), model=model)


def create_anthropic_error(error: Mapping[str, object], model: str) -> ModelError:
    """Return the typed error for the `error` object in an event."""
    kind, message = str(error.get("type"))[:100], str(error.get("message"))[:300]
    status = _ANTHROPIC_STATUSES.get(kind, 500)
    return find_error_class(status)(f"{model}: {kind}: {message}", model=model, status=status)
