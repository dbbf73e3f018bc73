"""Prompts of an editor as messages of a user, with the commands of coding agents such as `/fix`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, cast, get_args

from acp.exceptions import RequestError
from acp.schema import (
    AudioContentBlock,
    AvailableCommand,
    AvailableCommandInput,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
    UnstructuredCommandInput,
)

from tactician.coding.task import CodingTask, CodingTaskKind
from tactician.llm import Image, Text, UserMessage
from tactician.llm.image_checks import check_message_images
from tactician.llm.messages import UserPart

PromptBlock: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)
_KINDS: Final[tuple[CodingTaskKind, ...]] = get_args(CodingTaskKind)
_HELP: Final[dict[CodingTaskKind, tuple[str, str]]] = {
    "fix": ("Find the cause of a bug and mend it", "the bug"),
    "implement": ("Implement something new, with tests", "the feature"),
    "refactor": ("Refactor without a change of behaviour", "the code, and how it should be"),
    "review": ("Review, and change nothing", "the code"),
    "test": ("Write tests", "the code"),
}
_MOST: Final = 2_000_000
"""Characters of a prompt, with the files that the editor adds."""


def list_commands() -> list[AvailableCommand]:
    """Return the commands that an editor offers to its user."""
    return [
        AvailableCommand(
            name=kind, description=text, input=AvailableCommandInput(root=UnstructuredCommandInput(hint=hint))
        )
        for kind, (text, hint) in _HELP.items()
    ]


def read_prompt(blocks: Sequence[PromptBlock]) -> UserMessage:
    """Return the message of a user.

    Raises:
        RequestError: when it is blank or too long, or has sound or an invalid picture.
    """
    parts = [_read_block(block) for block in blocks]
    if parts and isinstance(first := parts[0], Text):
        parts[0] = Text(_expand_command(first.text))
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        raise _refuse("The prompt is empty: say what the agent is to do.")
    if sum(len(part.text) for part in parts if isinstance(part, Text)) > _MOST:
        raise _refuse(f"The prompt has more than {_MOST:,} characters: name files instead of adding them.")
    return _join(parts)


def _join(parts: Sequence[UserPart]) -> UserMessage:
    """Return a message of text where it has nothing else: models of all kinds take that."""
    if all(isinstance(part, Text) for part in parts):
        return UserMessage("\n\n".join(cast("Text", part).text for part in parts))
    try:
        (message,) = check_message_images((UserMessage(tuple(parts)),))
    except ValueError as error:
        raise _refuse(f"{error}.") from None
    return cast("UserMessage", message)


def _expand_command(text: str) -> str:
    """Return the task that `/fix ...` and its like stand for; any other text as it is."""
    name, _, request = text.strip().partition(" ")
    kind = next((kind for kind in _KINDS if name == f"/{kind}"), None)
    if kind is None:
        return text
    if not request.strip():
        raise _refuse(f"{name} needs some words: {_HELP[kind][1]}.")
    return CodingTask(kind, request.strip()).content


def _read_block(block: PromptBlock) -> UserPart:
    match block:
        case TextContentBlock():
            return Text(block.text)
        case ImageContentBlock():
            return Image(data=block.data, media_type=block.mime_type)
        case ResourceContentBlock():
            return Text(f"[{block.title or block.name}]({block.uri})")
        case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
            return Text(f"{resource.uri}:\n```\n{resource.text}\n```")
    raise _refuse("Text, pictures, links and files of text can be sent; this prompt has something else.")


def _refuse(reason: str) -> RequestError:
    return RequestError(-32602, reason)
