"""Messages of a conversation with a model, made of parts.

All of them are frozen, slotted dataclasses. They are built without validation (the hot path), and
`messages_to_json` / `messages_from_json` validate and serialise them where data crosses a border.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic_core import from_json, to_json

from tactician.frozen import frozen
from tactician.llm.image_types import find_image_type
from tactician.text import replace_surrogates

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PNG = "image/png"


@frozen(enforced=False)
class Text:
    """Plain text."""

    text: str
    kind: Literal["text"] = "text"


@frozen
class Image:
    """Image: either a `url` that the provider fetches, or `data` with its `media_type`.

    Attributes:
        data: the image in base64. Bytes are encoded, and their first bytes tell the type, unless `media_type` does.
    """

    url: str | None = None
    data: str | None = field(default=None, repr=False)
    media_type: str = _PNG
    kind: Literal["image"] = "image"

    if TYPE_CHECKING:

        def __init__(
            self,
            url: str | None = None,
            data: str | bytes | None = None,
            media_type: str = _PNG,
            kind: Literal["image"] = "image",
        ) -> None: ...

    def __post_init__(self) -> None:
        data: object = self.data
        if isinstance(data, bytes | bytearray):
            media_type = find_image_type(bytes(data)) if self.media_type == _PNG else self.media_type
            object.__setattr__(self, "data", base64.b64encode(data).decode("ascii"))
            object.__setattr__(self, "media_type", media_type)

    @classmethod
    def from_bytes(cls, content: bytes, media_type: str | None = None) -> Image:
        """Create an image from its bytes, which tell the media type if it is left out.

        Raises:
            ValueError: when they do not tell it.
        """
        data = base64.b64encode(content).decode("ascii")
        return cls(data=data, media_type=find_image_type(content) if media_type is None else media_type)

    @classmethod
    def from_path(cls, path: str | Path) -> Image:
        """Create an image from a file; the media type follows from its first bytes, else from the file's name.

        Raises:
            ValueError: when neither tells the type of image.
        """
        content = Path(path).read_bytes()
        try:
            return cls.from_bytes(content)
        except ValueError as error:
            media_type, _ = mimetypes.guess_type(str(path))
            if media_type is None or not media_type.startswith("image/"):
                raise ValueError(f"{path}: {error}") from None
            return cls.from_bytes(content, media_type)

    @property
    def location(self) -> str:
        """URL, or a `data:` URL for inline bytes."""
        return self.url if self.url is not None else f"data:{self.media_type};base64,{self.data or ''}"


@frozen
class Document:
    """File to read, such as a PDF: either a `url` that the provider fetches, or base64 `data`."""

    url: str | None = None
    data: str | None = field(default=None, repr=False)
    media_type: str = "application/pdf"
    name: str = "document.pdf"
    kind: Literal["document"] = "document"

    @classmethod
    def from_bytes(cls, content: bytes, media_type: str = "application/pdf", name: str = "document.pdf") -> Document:
        """Create a document from its bytes."""
        return cls(data=base64.b64encode(content).decode("ascii"), media_type=media_type, name=name)

    @classmethod
    def from_path(cls, path: str | Path) -> Document:
        """Create a document from a file; the media type follows from the file's name."""
        media_type, _ = mimetypes.guess_type(str(path))
        return cls.from_bytes(Path(path).read_bytes(), media_type or "application/octet-stream", Path(path).name)

    @property
    def location(self) -> str:
        """URL, or a `data:` URL for inline bytes."""
        return self.url if self.url is not None else f"data:{self.media_type};base64,{self.data or ''}"


@frozen(enforced=False)
class Thinking:
    """Thinking of a model before its answer, where the provider shows it; `signature` proves its origin."""

    text: str
    signature: str | None = field(default=None, repr=False)
    kind: Literal["thinking"] = "thinking"


@frozen(enforced=False)
class ToolCall:
    """Request of a model to run a tool. `arguments` is JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"
    kind: Literal["tool_call"] = "tool_call"

    def parse_arguments(self) -> Mapping[str, object]:
        """Return the arguments as a mapping.

        Raises:
            ValueError: when the model did not write a JSON object.
        """
        value: object = from_json(replace_surrogates(self.arguments) or "{}")
        if not isinstance(value, dict):
            raise ValueError(f"arguments must be a JSON object, not {type(value).__name__}")  # noqa: TRY004
        return value


@frozen
class ProviderItem:
    """Part of an answer that only its own wire format understands, and may need again unchanged.

    For example, encrypted thinking, or the actions of a tool that the provider ran. `data` is its JSON text.
    """

    format: str
    data: str = field(repr=False)
    kind: Literal["provider_item"] = "provider_item"


UserPart: TypeAlias = Text | Image | Document
AssistantPart: TypeAlias = Text | Thinking | ToolCall | ProviderItem


@frozen(enforced=False)
class SystemMessage:
    """Instructions from the developer."""

    text: str
    role: Literal["system"] = "system"


@frozen(enforced=False)
class UserMessage:
    """Message of the user. `content` is a string, or text and images in order."""

    content: str | tuple[UserPart, ...]
    role: Literal["user"] = "user"

    @property
    def parts(self) -> tuple[UserPart, ...]:
        """Content as parts, even if it is a single string."""
        return (Text(self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """All text of the message, without the images."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, Text))


@frozen(enforced=False)
class AssistantMessage:
    """Message of the model: text, thinking and tool calls in the order in which they came."""

    parts: tuple[AssistantPart, ...] = ()
    role: Literal["assistant"] = "assistant"

    @property
    def text(self) -> str:
        """All text of the message, without thinking and tool calls."""
        parts = self.parts
        if len(parts) == 1:  # nearly always
            return only.text if isinstance(only := parts[0], Text) else ""
        return "".join([part.text for part in parts if isinstance(part, Text)])

    @property
    def thinking(self) -> str:
        """All thinking of the message."""
        return "".join(part.text for part in self.parts if isinstance(part, Thinking))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Tools that the model requests to run."""
        parts = self.parts
        if len(parts) == 1:  # nearly always
            return (only,) if isinstance(only := parts[0], ToolCall) else ()
        return tuple([part for part in parts if isinstance(part, ToolCall)])


@frozen(enforced=False)
class ToolResult:
    """Result of a `ToolCall`, matched by `call_id`.

    Attributes:
        images: pictures that the model sees after the text.
    """

    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    role: Literal["tool"] = "tool"

    @property
    def text(self) -> str:
        """Content, under the name that it has in every message."""
        return self.content


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResult


def messages_to_json(messages: Sequence[Message]) -> str:
    """Return a conversation as JSON text, which `messages_from_json` reads back."""
    return _adapter().dump_json(tuple(messages)).decode()


def messages_from_json(text: str | bytes) -> tuple[Message, ...]:
    """Return the conversation in untrusted JSON text.

    Raises:
        pydantic.ValidationError: when the text is not a conversation.
    """
    return _adapter().validate_json(text)


def messages_to_data(messages: Sequence[Message]) -> list[object]:
    """Return a conversation as plain JSON data, which `messages_from_data` reads back."""
    data: list[object] = _adapter().dump_python(tuple(messages), mode="json")
    return data


def messages_from_data(data: object) -> tuple[Message, ...]:
    """Return the conversation in untrusted JSON data.

    Raises:
        pydantic.ValidationError: when the data is not a conversation.
    """
    return _adapter().validate_json(to_json(data))


def join_text(messages: Iterable[Message]) -> str:
    """Return the text of messages, a line each, for prompts, logs and tests."""
    return "\n".join(message.text for message in messages)


def format_with_reasoning(message: AssistantMessage) -> str:
    """Return the text of a message after its thinking, between `[REASONING]` and `[/REASONING]`.

    For display and logs. The result is never sent to a model: thinking is a part of its own.
    """
    thinking = message.thinking
    return f"[REASONING]\n{thinking}\n[/REASONING]\n\n{message.text}" if thinking else message.text


@cache
def _adapter() -> TypeAdapter[tuple[Message, ...]]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Message, ...])
