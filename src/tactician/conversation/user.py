"""User of a conversation."""

from __future__ import annotations

from collections.abc import Mapping

from tactician.frozen import frozen


@frozen
class ChatUser:
    """User of a conversation. All code that works for the user finds it: `context.find(ChatUser)`.

    An action that takes a `ChatUser` gets the user of its session.

    Attributes:
        id: id of the user in the program.
        name: name that the assistant may use.
        attributes: what else the program says about the user, such as a language.
    """

    id: str
    name: str | None = None
    attributes: Mapping[str, str] | None = None
