"""Context of a request: who sent it, and to which endpoint."""

from __future__ import annotations

from typing import Final

from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.requests import Request
from typing_extensions import override

ENDPOINT: Final = "endpoint"
"""Name of the part of a path that is the id of the skill whose endpoint it is."""


class EndpointContextBuilder(DefaultServerCallContextBuilder):
    """Builder of the context of an HTTP request, which also knows the endpoint."""

    @override
    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state[ENDPOINT] = request.path_params.get(ENDPOINT, "")
        return context


def find_endpoint(context: ServerCallContext) -> str:
    """Return the id of the skill at whose endpoint a request came, or which it names as its tenant; else nothing."""
    return str(context.state.get(ENDPOINT) or context.tenant or "")
