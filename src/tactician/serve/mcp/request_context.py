"""Context of a request, as the SDK has it."""

from __future__ import annotations

from typing import TypeAlias

from mcp.server import ServerRequestContext

RequestContext: TypeAlias = ServerRequestContext[dict[str, object]]
