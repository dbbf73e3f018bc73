"""State of a conversation in a run as data that has a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NotRequired

import pydantic
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Message
from tactician.llm.messages import messages_from_data, messages_to_data
from tactician.runs.progress.checkpoint import Live, revive


class Counts(TypedDict):
    """Counters of a run.

    `kept` is the number of messages that were in the caller's conversation before; `None`, when they are saved too.
    `input` is the number of those that are saved up to the end of the input, `answer` the place among them of an answer
    of the model that is not dealt with. `series` and `forgotten` are missing in what earlier versions have saved, and
    `rules` where a run has none.
    """

    kept: int | None
    input: int
    answer: int | None
    is_last_word: bool
    turn: int
    calls: int
    rejections: int
    refusals: int
    restarts: int
    repeats: int
    last_call: str
    admitted: list[str]
    cut_off: bool
    is_accepted: bool
    is_handed_over: bool
    series: NotRequired[str]
    forgotten: NotRequired[list[str]]
    rules: NotRequired[dict[str, object]]


def read_counts(data: object) -> Counts:
    """Return the counters in the checkpoint of a conversation.

    Raises:
        StoredStateError: when they cannot be read.
    """
    if not isinstance(data, Mapping):
        raise StoredStateError(f"The saved state of a run cannot be read: it is {type(data).__name__}, and no mapping.")
    return revive(data.get("counts"), _counts_adapter().validate_python)


def read_messages(data: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages in the checkpoint of a conversation; nothing for another kind of run.

    Raises:
        StoredStateError: when they cannot be read.
    """
    return tuple(parse_messages(data.get("messages")))


def read_added_messages(data: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages in a checkpoint that the run added to the caller's conversation, if any.

    They end with the results of finished calls, though others of the same message have none yet.

    Raises:
        StoredStateError: when they cannot be read.
    """
    if "counts" not in data:
        return ()
    counts = read_counts(data)
    return () if counts["kept"] is None else (*read_messages(data), *parse_messages(data.get("answers")))


def keep_message(message: Message) -> Live[Message]:
    """Return a message as a value of a checkpoint."""
    return Live(message, _write_message)


def _write_message(message: Message) -> object:
    return messages_to_data((message,))[0]


def parse_messages(value: object) -> list[Message]:
    """Return the messages in a list of messages or of their JSON forms."""
    items = value if isinstance(value, list) else []
    if all(isinstance(item, Live) for item in items):
        return [item.value for item in items]
    if not any(isinstance(item, Live) for item in items):
        return list(revive(items, messages_from_data))
    return [message for item in items for message in parse_messages([item])]


@cache
def _counts_adapter() -> pydantic.TypeAdapter[Counts]:
    return pydantic.TypeAdapter(Counts)
