"""Client of a call: what it can do, and on whose behalf it calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from tactician.events import Event
from tactician.runs import ChatUser, PendingRequest, Respondent, RunContext
from tactician.serve.api import Person
from tactician.serve.mcp.forms import build_elicitation

RequestContext: TypeAlias = ServerRequestContext[dict[str, object]]
_MOST_WAITING_REPORTS = 100


class Caller:
    """Client of a call, of either protocol era.

    Attributes:
        run_id: id of the run that the call has started or continued, once it is known.
    """

    def __init__(self, request: RequestContext) -> None:
        self._request = request
        self.run_id: str | None = None
        self._reported = 0

    @property
    def asks_later(self) -> bool:
        """True when the client is asked by the result of the call, and calls again with the answers."""
        return self._request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """True when the client shows forms to a person."""
        capabilities = self._request.session.client_capabilities
        elicitation = None if capabilities is None else capabilities.elicitation
        return elicitation is not None and (elicitation.form is not None or elicitation.url is None)

    def find_respondent(self, request: PendingRequest) -> Respondent:
        """Return who answers: the person whom the server knows, else the subject of the access token.

        A scope of the token is a role.
        """
        if (person := self._find_person()) is not None:
            return Respondent(person.find_role(request.required_role), person.name)
        token = get_access_token()
        if token is None:
            return Respondent()
        role = request.required_role if request.required_role in token.scopes else None
        return Respondent(role, token.subject or token.client_id)

    def _find_person(self) -> Person | None:
        http = self._request.request
        person = http.scope.get("person") if isinstance(http, Request) else None
        return person if isinstance(person, Person) else None

    @property
    def user(self) -> ChatUser | None:
        """The user that new runs work for: the person whom the server knows, else the subject of the access token."""
        if (person := self._find_person()) is not None:
            return person.user
        token = get_access_token()
        return None if token is None or not token.subject else ChatUser(token.subject)

    def surround(self, context: RunContext) -> RunContext:
        """Return the context in which what the client starts finds its user."""
        return context if self.user is None else context.inside({ChatUser: self.user})

    def may_answer(self, request: PendingRequest) -> bool:
        """Return whether the client has the role that the request requires."""
        return request.required_role is None or self.find_respondent(request).role == request.required_role

    async def ask(self, request: PendingRequest) -> types.ElicitResult:
        """Ask the person at the client, while the call goes on."""
        form = build_elicitation(request)
        return await self._request.session.elicit_form(
            form.message, form.requested_schema, related_request_id=self._request.request_id
        )

    @asynccontextmanager
    async def listen(self, context: RunContext) -> AsyncIterator[RunContext]:
        """Give the context whose events are reported to the client as progress, if it asked for that."""
        events: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_WAITING_REPORTS)

        def hear(event: Event) -> None:
            if self.run_id is None and len(event.path) == 1:
                self.run_id = event.run_id
            if event.level >= logging.INFO:
                with suppress(asyncio.QueueFull):  # a slow client misses some
                    events.put_nowait(event)

        reporting = asyncio.create_task(self._report(events))
        try:
            yield context.with_listeners(hear)
            await events.put(None)
            await reporting
        finally:
            reporting.cancel()

    async def _report(self, events: asyncio.Queue[Event | None]) -> None:
        while (event := await events.get()) is not None:
            self._reported += 1
            message = f"{event.path[-1]}: {event.describe()}" if event.path else event.describe()
            await self._request.session.report_progress(self._reported, message=message)
