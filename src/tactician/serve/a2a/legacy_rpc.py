"""JSON-RPC of version 0.3: the SDK answers, but for invalid parameters and results that are null."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from json import JSONDecodeError
from typing import Final, TypeAlias, cast

from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_jsonable_python
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_METHODS: Final = cast("Mapping[str, type[BaseModel]]", JSONRPC03Adapter.METHOD_TO_MODEL)
_DELETE: Final = "tasks/pushNotificationConfig/delete"
_INVALID_PARAMS: Final = -32602


def answer_legacy_calls(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that answers calls of version 0.3 as its specification says.

    The SDK takes invalid parameters for an invalid request, and leaves out a result that is null.

    Args:
        endpoint: endpoint of the SDK.
    """

    async def answer(request: Request) -> Response:
        call = await _read_call(request)
        if call is None:
            return await endpoint(request)
        try:
            _METHODS[call["method"]].model_validate(call)
        except ValidationError as error:
            return _refuse(call.get("id"), error)
        response = await endpoint(request)
        return _add_result(response) if call["method"] == _DELETE else response

    return answer


async def _read_call(request: Request) -> dict[str, str] | None:
    """Return a call of version 0.3; `None` for any other, and for what is no call of JSON-RPC."""
    try:
        call = await request.json()
    except (JSONDecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or isinstance(call.get("id"), bool):
        return None
    is_known = isinstance(call.get("method"), str) and call["method"] in _METHODS
    return call if is_known and isinstance(call.get("id"), str | int | None) else None


def _refuse(request_id: object, error: ValidationError) -> Response:
    details = error.errors(include_url=False, include_input=False, include_context=False)
    problem = {"code": _INVALID_PARAMS, "message": "Invalid parameters", "data": to_jsonable_python(details)}
    return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": problem})


def _add_result(response: Response) -> Response:
    answer = from_json(bytes(response.body))
    return response if "error" in answer else JSONResponse({"result": None, **answer})
