"""The errors of pydantic-ai as ours: by HTTP status where there is one, else by their kind."""

from __future__ import annotations

from pydantic_ai import exceptions as theirs
from pydantic_ai.models import Model

from tactician.errors import (
    AuthenticationError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm.http import error_kind

KNOWN = (theirs.AgentRunError, theirs.FallbackExceptionGroup, theirs.UserError, NotImplementedError, TimeoutError)

# The first that fits counts: the special ones come before the general ones.
_BY_KIND: tuple[tuple[type[Exception], type[ModelError]], ...] = (
    (theirs.ModelAuthenticationError, AuthenticationError),
    (theirs.ModelNotFoundError, ModelNotFoundError),
    (theirs.ModelRequestRejectedError, ModelRequestError),
    (theirs.ModelRateLimitError, RateLimitError),
    (theirs.ModelQuotaExceededError, RateLimitError),
    (theirs.ModelTimeoutError, ModelTimeoutError),
    (theirs.ModelRequestTimeout, ModelTimeoutError),
    (theirs.ModelConnectionError, ModelConnectionError),
    (theirs.ModelAPIError, ModelServerError),
    (theirs.ContentFilterError, ModelRequestError),
    (theirs.UnexpectedModelBehavior, MalformedResponseError),
    (theirs.UserError, ModelRequestError),
    (NotImplementedError, ModelRequestError),
)


def typed(error: Exception, model: Model, seconds: float) -> ModelError:
    """Our error for one of `KNOWN`; `seconds` is how long the call was allowed to take."""
    name = model.model_id
    if isinstance(error, theirs.FallbackExceptionGroup):
        return typed(error.exceptions[-1], model, seconds)
    if type(error) is TimeoutError:
        return ModelTimeoutError(f"{name}: no answer within {seconds:g} s", model=name)
    status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    retry_after = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
    message = _without_key(f"{name}: {_explanation(error)}", model)
    return _kind(error, status)(message, model=name, status=status, retry_after=retry_after)


def _kind(error: Exception, status: int | None) -> type[ModelError]:
    if isinstance(error, theirs.ModelContextWindowExceededError):
        return ContextLengthError
    if status is not None:
        return error_kind(status)
    return next((ours for kind, ours in _BY_KIND if isinstance(error, kind)), ModelError)


def _explanation(error: Exception) -> str:
    if not isinstance(error, theirs.ModelHTTPError):
        return str(error)
    body = error.body
    if isinstance(body, dict):
        body = body.get("error", body)
    message = body.get("message", body) if isinstance(body, dict) else body
    return f"HTTP {error.status_code}: {str(message)[:300]}"


def _without_key(text: str, model: Model) -> str:
    """The text without the keys of the model's clients: a provider may quote them."""
    for one in (model, *getattr(model, "models", ())):
        key = getattr(getattr(one.provider, "client", None), "api_key", None)
        text = text.replace(key, "***") if isinstance(key, str) and key else text
    return text
