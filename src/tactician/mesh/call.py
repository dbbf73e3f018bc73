"""Requests of this program whose replies have not come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tactician.mesh.messages.message import MeshMessage
from tactician.mesh.messages.replies import MeshReply, ProgressReport, RequestAcceptance, StatusReport

OnProgress = Callable[[ProgressReport], None]


class _Moment:
    """Moment that somebody may wait for. Its event, which takes 760 bytes, lasts from the question to the moment."""

    __slots__ = ("_event", "_has_come")

    def __init__(self) -> None:
        self._event: asyncio.Event | None = None
        self._has_come = False

    @property
    def event(self) -> asyncio.Event:
        if self._event is None:
            self._event = asyncio.Event()
            if self._has_come:
                self._event.set()
        return self._event

    def come(self) -> None:
        self._has_come = True
        if self._event is not None:
            self._event.set()
            self._event = None

    def clear(self) -> None:
        self._has_come = False
        if self._event is not None:
            self._event.clear()


class MeshCall:
    """Request for whose reply somebody waits in this program.

    Args:
        on_progress: called with each report of progress.

    Attributes:
        acceptance: the acceptance, once it has come.
        reply: the reply, once it has come.
        status: the answer to the last question about the request.
        progress: the progress so far, in words.
        is_given_up: true when the request was withdrawn before a node had accepted it.
    """

    __slots__ = (
        "_answered",
        "_heard",
        "_nodes",
        "_on_progress",
        "_reported",
        "acceptance",
        "is_given_up",
        "progress",
        "reply",
        "status",
    )

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self._heard, self._answered, self._reported = _Moment(), _Moment(), _Moment()
        self.acceptance: RequestAcceptance | None = None
        self.reply: MeshReply | None = None
        self.status: StatusReport | None = None
        self.progress: list[str] = []
        self.is_given_up = False
        self._nodes: frozenset[str] | None = None

    @property
    def is_heard(self) -> asyncio.Event:
        """Set when the node has accepted or answered the request."""
        return self._heard.event

    @property
    def is_answered(self) -> asyncio.Event:
        """Set when the reply has come."""
        return self._answered.event

    @property
    def is_reported(self) -> asyncio.Event:
        """Set when the node has answered a question about the request."""
        return self._reported.event

    @property
    def is_accepted(self) -> bool:
        """True when a node has accepted or answered the request."""
        return self.acceptance is not None or self.reply is not None

    def expect(self, *nodes: str) -> None:
        """Listen to these nodes only, apart from a result, which counts wherever it comes from."""
        self._nodes, self.is_given_up, self.acceptance = frozenset(nodes), False, None
        if self.reply is None or self.reply.status == "rejected":
            self.reply = None
            self._heard.clear()
            self._answered.clear()

    def give_up(self) -> None:
        """Note that the request was withdrawn before a node had accepted it."""
        self.is_given_up = True
        self._heard.come()

    def _is_expected(self, message: MeshMessage) -> bool:
        """Return whether a message counts: a node that was given up may still refuse a request, or report on it."""
        if self._nodes is None or (isinstance(message, MeshReply) and message.status == "completed"):
            return True
        return getattr(message, "node", None) in self._nodes

    def note(self, message: MeshMessage) -> None:
        """Take a message about the request."""
        if not self._is_expected(message):
            return
        match message:
            case RequestAcceptance():
                self.acceptance = message
            case ProgressReport():
                self.progress = [*self.progress[-99:], message.message]
                if self._on_progress is not None:
                    self._on_progress(message)
            case StatusReport():
                self.status = message
                self._reported.come()
                return
            case MeshReply():
                self.reply = message
                self._answered.come()
        self._heard.come()


class Calls:
    """Requests for whose replies somebody waits in this program, by their ids."""

    def __init__(self) -> None:
        self._calls: dict[str, list[MeshCall]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def listen(self, request_id: str, on_progress: OnProgress | None = None) -> Iterator[MeshCall]:
        """Listen to the messages about a request inside a `with` block."""
        call = self.open(request_id, on_progress)
        try:
            yield call
        finally:
            self.close(request_id, call)

    def open(self, request_id: str, on_progress: OnProgress | None = None) -> MeshCall:
        """Listen to the messages about a request until `close`."""
        call = MeshCall(on_progress)
        self._calls.setdefault(request_id, []).append(call)
        return call

    def close(self, request_id: str, call: MeshCall) -> None:
        """Listen no longer."""
        listeners = self._calls[request_id]
        listeners.remove(call)
        if not listeners:
            del self._calls[request_id]

    def find(self, request_id: str) -> tuple[MeshCall, ...]:
        """Return those who wait for messages about a request in this program."""
        return tuple(self._calls.get(request_id, ()))

    def note(self, message: MeshMessage) -> bool:
        """Give a message to those who wait for it, and return whether anybody does."""
        match message:
            case RequestAcceptance() | ProgressReport() | MeshReply() | StatusReport():
                listeners = self._calls.get(message.request_id, ())
                for call in tuple(listeners):
                    call.note(message)
                return bool(listeners)
        return False
