"""Log messages for clients: events of the runs that their calls start."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

import mcp_types as types
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tactician.events import Event
from tactician.secrets import mask_secrets
from tactician.serve.mcp.limits import REMEMBERED
from tactician.serve.mcp.request_context import RequestContext

_LEVELS: Final[dict[types.LoggingLevel, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO + 5,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL + 5,
    "emergency": logging.CRITICAL + 10,
}


class LogLevels:
    """Levels from which on clients want log messages. Who names none gets none.

    Clients of the new era name the level with each request, clients of the old era once for all that follow.
    """

    def __init__(self) -> None:
        self._chosen: OrderedDict[int, tuple[object, int]] = OrderedDict()

    async def set_level(self, request: RequestContext, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Keep the level of a client of the old era."""
        client = request.session.client_params
        self._chosen[id(client)] = client, _LEVELS[params.level]  # kept, so that no other client gets its id
        if len(self._chosen) > REMEMBERED:
            self._chosen.popitem(last=False)
        return types.EmptyResult()

    def find(self, request: RequestContext) -> int | None:
        """Return the level from which on a request wants log messages; `None` when it wants none."""
        if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            level = (request.meta or {}).get(LOG_LEVEL_META_KEY)
            return next((number for name, number in _LEVELS.items() if name == level), None)
        chosen = self._chosen.get(id(request.session.client_params))
        return None if chosen is None else chosen[1]


def write_log(event: Event) -> types.LoggingMessageNotification:
    """Return an event as a log message, without keys and passwords."""
    level = max((number, name) for name, number in _LEVELS.items() if number <= max(event.level, logging.DEBUG))[1]
    data = {"event": type(event).__name__, "message": mask_secrets(event.describe()), "run_id": event.run_id}
    place = " / ".join(event.path) or None
    return types.LoggingMessageNotification(
        params=types.LoggingMessageNotificationParams(level=level, logger=place, data=data)
    )
