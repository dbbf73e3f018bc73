"""Client of a call: what it can do, and on whose behalf it calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from types import MappingProxyType

import mcp_types as types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from tactician.events import Event
from tactician.people.person import Person
from tactician.runs import ChatUser, PendingRequest, RunContext
from tactician.runs.progress.record import RunRecord
from tactician.runs.requests.respondents import Respondent
from tactician.secrets import mask_secrets
from tactician.serve.api.forms.visibility import sees_run
from tactician.serve.mcp.client_model import ROOTS, SAMPLING
from tactician.serve.mcp.inputs import InputAnswer, build_input, find_method, fits
from tactician.serve.mcp.logs import write_log
from tactician.serve.mcp.request_context import RequestContext

_MOST_WAITING_REPORTS = 100


class Caller:
    """Client of a call, of either protocol era.

    Args:
        request: the request of the call.
        answers: answers that came with the call, by the keys of the requests.
        log_level: level from which on the client wants the events of the call as log messages; none, when `None`.

    Attributes:
        run_id: id of the run that the call has started or continued, once it is known.
    """

    def __init__(
        self,
        request: RequestContext,
        log_level: int | None = None,
        answers: Mapping[str, InputAnswer] = MappingProxyType({}),
    ) -> None:
        self._request = request
        self._answers = dict(answers)
        self._log_level = log_level
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

    def can_answer(self, request: PendingRequest) -> bool:
        """Return whether the client can show the form of a request, or ask its model, or list its roots."""
        if not request.is_for_people:
            return False
        capabilities = self._request.session.client_capabilities
        match find_method(request):
            case method if method == SAMPLING:
                return capabilities is not None and capabilities.sampling is not None
            case method if method == ROOTS:
                return capabilities is not None and capabilities.roots is not None
        return self.can_ask

    def has_extension(self, name: str) -> bool:
        """Return whether the client supports an extension, as it says with each request of the new era."""
        capabilities = self._request.session.client_capabilities
        return self.asks_later and capabilities is not None and name in (capabilities.extensions or {})

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

    def sees(self, record: RunRecord) -> bool:
        """Return whether the client may see a run: a person whom the server knows sees others' runs by a right."""
        person = self._find_person()
        return person is None or sees_run(person, record.header.user)

    def owns(self, record: RunRecord) -> bool:
        """Return whether a task belongs to the client, as far as the server knows who calls."""
        if self._find_person() is not None:
            return self.sees(record)
        return record.header.user in (None, None if self.user is None else self.user.id)

    def may_answer(self, request: PendingRequest) -> bool:
        """Return whether the client has the role that the request requires."""
        return request.required_role is None or self.find_respondent(request).role == request.required_role

    async def ask(self, request: PendingRequest) -> InputAnswer:
        """Ask the person at the client, its model, or for its roots, while the call goes on."""
        asked = build_input(request)
        related = ServerMessageMetadata(related_request_id=self._request.request_id)
        kinds: dict[type[types.InputRequest], type[InputAnswer]] = {
            types.CreateMessageRequest: types.CreateMessageResult,
            types.ListRootsRequest: types.ListRootsResult,
            types.ElicitRequest: types.ElicitResult,
        }
        return await self._request.session.send_request(asked, kinds[type(asked)], metadata=related)

    def take_answers(self, named: Mapping[str, PendingRequest]) -> dict[str, InputAnswer]:
        """Return the answers to requests that came with the call, by the ids of the requests. Each is taken once.

        Args:
            named: the requests by their keys.
        """
        filled = {key: self._answers.pop(key) for key in named if key in self._answers}
        return {named[key].id: answer for key, answer in filled.items() if fits(named[key], answer)}

    @asynccontextmanager
    async def listen(self, context: RunContext) -> AsyncIterator[RunContext]:
        """Give the context whose events the client gets as progress and as log messages, if it asked for that."""
        events: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_WAITING_REPORTS)

        def hear(event: Event) -> None:
            if self.run_id is None and len(event.path) == 1:
                self.run_id = event.run_id
            if event.level >= logging.INFO or self._wants_log(event):
                with suppress(asyncio.QueueFull):  # a slow client misses some
                    events.put_nowait(event)

        async with _finishing(self._report(events), events):
            yield context.with_listeners(hear)

    async def _report(self, events: asyncio.Queue[Event | None]) -> None:
        while (event := await events.get()) is not None:
            if self._wants_log(event):
                await self._request.session.send_notification(write_log(event), self._request.request_id)
            if event.level >= logging.INFO:
                self._reported += 1
                message = f"{event.path[-1]}: {event.describe()}" if event.path else event.describe()
                await self._request.session.report_progress(self._reported, message=mask_secrets(message))

    def _wants_log(self, event: Event) -> bool:
        return self._log_level is not None and event.level >= self._log_level


@asynccontextmanager
async def _finishing(work: Coroutine[object, object, None], events: asyncio.Queue[Event | None]) -> AsyncIterator[None]:
    """Do the work beside a block. It finishes what is in the queue when the block ends or fails, unless cancelled."""
    task = asyncio.create_task(work)
    try:
        try:
            yield
        except Exception:
            await events.put(None)
            await task
            raise
        await events.put(None)
        await task
    finally:
        task.cancel()
