"""Masks of secrets in errors that nobody has foreseen: the SDK sends the text of each to the client."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import TypeVar, cast

from a2a.utils.errors import A2AError, InternalError

from tactician.errors import TacticianError
from tactician.secrets import mask_secrets
from tactician.text import describe_error

H = TypeVar("H")


def mask_errors(handler: type[H]) -> type[H]:
    """Decorate a class of handlers, so that what its methods `on_...` raise has masks for secrets."""
    for name, method in list(vars(handler).items()):
        if name.startswith("on_"):
            wrap = _wrap_stream if inspect.isasyncgenfunction(inspect.unwrap(method)) else _wrap_call
            setattr(handler, name, wrap(method))
    return handler


def _wrap_call(method: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    @wraps(method)
    async def call(*arguments: object, **named: object) -> object:
        try:
            return await method(*arguments, **named)
        except A2AError as error:
            _mask(error)
            raise
        except Exception as error:
            raise _describe(error) from error

    return call


def _wrap_stream(method: Callable[..., AsyncIterator[object]]) -> Callable[..., AsyncIterator[object]]:
    @wraps(method)
    async def stream(*arguments: object, **named: object) -> AsyncGenerator[object]:
        events = cast("AsyncGenerator[object]", method(*arguments, **named))
        try:
            async for event in events:
                yield event
        except A2AError as error:
            _mask(error)
            raise
        except Exception as error:
            raise _describe(error) from error
        finally:
            await events.aclose()

    return stream


def _mask(error: A2AError) -> None:
    error.message = mask_secrets(error.message)
    error.args = (error.message,)


def _describe(error: Exception) -> A2AError:
    text = str(error) if isinstance(error, TacticianError) else describe_error(error)
    return InternalError(message=mask_secrets(text))
