"""Frames between two programs: a header as JSON, and the message itself."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.message import MAX_BYTES

_MOST_HEADER: Final = 4_000
MAX_FRAME: Final = MAX_BYTES + _MOST_HEADER
"""Bytes of the longest frame."""
_Seconds = Annotated[float, Field(ge=0, le=7 * 86_400, allow_inf_nan=False)]


class SocketFrame(BaseModel):
    """Header of a frame.

    Attributes:
        kind: a question for the messages of a queue, what the holder of a message is to do with it, its answer, a
            message of a topic, the news that a queue has changed, or a question for what was published in topics.
        call: number of the question that an answer belongs to.
        name: queue or topic.
        receipt: number of a message that is leased, or was published.
        seconds: length of a lease or a delay; in an answer, the time until a message is ready.
        since: time from which a program asks for what was published, in seconds since the epoch.
        deliveries: number of times that the message was delivered.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["take", "acknowledge", "postpone", "answer", "topic", "changed", "replay"]
    call: int = Field(default=0, ge=0)
    name: str = Field(default="", max_length=1_000)
    receipt: int = Field(default=0, ge=0)
    seconds: _Seconds | None = None
    since: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    deliveries: int = Field(default=1, ge=0)


def write_frame(frame: SocketFrame, body: bytes = b"") -> bytes:
    """Return a frame as bytes."""
    return frame.model_dump_json(exclude_defaults=True).encode() + b"\n" + body


def read_frame(data: bytes) -> tuple[SocketFrame, bytes]:
    """Return the header and the message of a frame that another program has sent.

    Raises:
        MessageError: when it is not valid.
    """
    header, separator, body = data.partition(b"\n")
    if not separator or len(header) > _MOST_HEADER:
        raise MessageError("A frame has no header, or a header that is too long.")
    try:
        return SocketFrame.model_validate_json(header), body
    except ValidationError as error:
        raise MessageError(f"A frame has a header that is not valid: {error.error_count()} mistakes.") from error
