"""Messages as bytes: CloudEvents 1.0 in structured JSON (https://github.com/cloudevents/spec)."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar, cast

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.mesh.messages.bounds import JsonObject, MessageError, parse_bounded
from tactician.mesh.messages.cards import CardQuery, NodeCard
from tactician.mesh.messages.directives import DirectiveMessage, DirectiveReceipt, TopicEvent
from tactician.mesh.messages.message import MAX_BYTES, QUEUED_WINDOW, MeshMessage
from tactician.mesh.messages.replies import MeshReply, ProgressReport, RequestAcceptance, StatusReport
from tactician.mesh.messages.requests import Cancellation, MeshRequest, StatusQuery
from tactician.mesh.messages.signing import MessageSigner
from tactician.runs.context.telemetry import join_trace

M = TypeVar("M", bound=MeshMessage)
VERSION: Final = "v1"
MESSAGES: Final[dict[str, type[MeshMessage]]] = {
    kind.EVENT: kind
    for kind in (
        MeshRequest,
        RequestAcceptance,
        ProgressReport,
        MeshReply,
        Cancellation,
        StatusQuery,
        StatusReport,
        NodeCard,
        CardQuery,
        DirectiveMessage,
        DirectiveReceipt,
        TopicEvent,
    )
}
"""All messages, by the names in their types."""
TIME_WINDOW: Final = 300.0
"""Seconds for which a message is valid that says nothing else."""
_LONG_LIVED: Final = (MeshRequest, MeshReply)
_SKEW: Final = 60.0
"""Seconds by which the clock of a sender may be ahead."""
_REMEMBERED: Final = 20_000
_TYPE: Final = re.compile(r"tactician\.([a-z-]{1,50})\.(v[0-9]{1,5})")
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LONGEST_STATE: Final = 512


@frozen(kw_only=True)
class Envelope:
    """Message with its surroundings.

    Attributes:
        id: id of the message; a message that is delivered again has the same.
        source: node or client that has sent it.
        sent_at: time by the sender's clock, in seconds since the epoch.
        message: the message.
        trace_parent: W3C trace context of the sender's code.
        trace_state: what further systems have added to the trace context.
    """

    id: str
    source: str
    sent_at: float
    message: MeshMessage
    trace_parent: str | None = None
    trace_state: str | None = None

    @property
    def trace(self) -> str | None:
        """Trace context as runs keep it, with the state."""
        return join_trace(self.trace_parent, self.trace_state)


class MessageCodec:
    """Writer and reader of messages.

    Args:
        source: name of the node or client that sends.
        keys: keys of the mesh; without keys, messages are not signed.
        clock: the time.
    """

    def __init__(self, source: str, keys: Sequence[str] = (), clock: Clock = SYSTEM_CLOCK) -> None:
        self._source = source
        self._signer = MessageSigner(keys)
        self._clock = clock
        self._seen: OrderedDict[str, None] = OrderedDict()

    @property
    def is_signing(self) -> bool:
        """True when messages are signed, and have to be."""
        return self._signer.is_active

    def encode(self, message: MeshMessage, *, trace_parent: str | None = None, trace_state: str | None = None) -> bytes:
        """Return a message as bytes.

        Raises:
            MessageError: when it is too large.
        """
        now = self._clock.time()
        lasts = QUEUED_WINDOW if isinstance(message, (*_LONG_LIVED, TopicEvent)) else TIME_WINDOW
        event: JsonObject = {
            "specversion": "1.0",
            "id": new_id(),
            "source": f"/tactician/{self._source}",
            "type": f"tactician.{message.EVENT}.{VERSION}",
            "time": _write_time(now),
            "expirytime": _write_time(now + lasts),
            "datacontenttype": "application/json",
            "data": message.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        }
        if trace_parent is not None:
            event["traceparent"] = trace_parent
        if trace_state:
            event["tracestate"] = trace_state
        self._signer.sign(event)
        encoded = to_json(event)
        if len(encoded) > MAX_BYTES:
            raise MessageError(
                f"The message has {len(encoded):,} bytes, and {MAX_BYTES:,} are allowed. Larger values go through a "
                "store: Mesh(..., store=...)",
                reason="too_large",
            )
        return encoded

    def decode(self, encoded: bytes, *, may_repeat: bool = False) -> Envelope:
        """Return the message in bytes that somebody has sent.

        Args:
            encoded: the message.
            may_repeat: true for a reader that takes a message that comes twice once.

        Raises:
            MessageError: when it is not valid, is of an unknown type or version, is not signed as it must be, or is
                out of date.
        """
        event = parse_bounded(encoded)
        self._signer.verify(event)
        sent_at = self._check_time(event)
        message = _read_message(event)
        envelope = Envelope(
            id=_read_text(event, "id"),
            source=_read_text(event, "source").removeprefix("/tactician/"),
            sent_at=sent_at,
            message=message,
            trace_parent=_read_trace_parent(event.get("traceparent")),
            trace_state=_read_trace_state(event.get("tracestate")),
        )
        if self.is_signing and not may_repeat and not isinstance(message, _LONG_LIVED):
            self._refuse_replay(envelope.id)
        return envelope

    def _check_time(self, event: JsonObject) -> float:
        """Return the time of a message.

        Raises:
            MessageError: when it is not valid now.
        """
        sent_at, now = _read_time(event.get("time")), self._clock.time()
        expires_at = _read_time(event["expirytime"]) if "expirytime" in event else sent_at + TIME_WINDOW
        if self.is_signing and (sent_at > now + _SKEW or expires_at < now or expires_at > sent_at + QUEUED_WINDOW):
            raise MessageError("The message is out of date: its time is not within its window.", reason="not_allowed")
        return sent_at

    def _refuse_replay(self, id: str) -> None:
        """Remember the id of a message that must not come twice. A request may: it runs once by its own id.

        Raises:
            MessageError: when the message has come before.
        """
        if id in self._seen:
            raise MessageError("The message has come before.", reason="not_allowed")
        self._seen[id] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


def _read_message(event: JsonObject) -> MeshMessage:
    if event.get("specversion") != "1.0":
        raise _refuse(event, "The message is no CloudEvent of the version 1.0.", "unsupported_version")
    matched = _TYPE.fullmatch(str(event.get("type")))
    if matched is None or (kind := MESSAGES.get(matched[1])) is None:
        raise _refuse(event, "The type of the message is not known.", "unsupported_version")
    if matched[2] != VERSION:
        problem = f"The message has the version {matched[2]}, and {VERSION} is supported."
        raise _refuse(event, problem, "unsupported_version")
    try:
        return kind.model_validate(event.get("data"))
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_context=False, include_input=False)[:10]
        )
        raise _refuse(event, f"The {kind.EVENT} is not valid: {places}", "invalid_input") from error


def _refuse(event: JsonObject, problem: str, reason: str) -> MessageError:
    """Return the error for a message, with the address of its sender as far as the message has it."""
    data = event.get("data")
    fields = data if isinstance(data, dict) else {}
    request_id, reply_to = fields.get("id"), fields.get("reply_to")
    return MessageError(
        problem,
        reason=reason,
        request_id=request_id if isinstance(request_id, str) else "",
        reply_to=reply_to if isinstance(reply_to, str) and len(reply_to) <= 200 else None,
    )


def _read_text(event: JsonObject, name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 300:
        raise MessageError(f"The message needs the attribute {name!r}, of at most 300 characters.")
    return value


def _write_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _read_time(value: JsonValue) -> float:
    try:
        return datetime.fromisoformat(cast("str", value)).timestamp()
    except (TypeError, ValueError, OverflowError) as error:
        raise MessageError("The message needs the attribute 'time', as 2026-11-24T15:00:00Z.") from error


def _read_trace_parent(value: JsonValue) -> str | None:
    """Return a W3C trace context; what is not valid is ignored, as the specification asks."""
    return value if isinstance(value, str) and _TRACE_PARENT.fullmatch(value) else None


def _read_trace_state(value: JsonValue) -> str | None:
    is_valid = isinstance(value, str) and len(value) <= _LONGEST_STATE and value.isascii() and value.isprintable()
    return cast("str", value) if is_valid else None
