"""Parts of a prompt besides its text: examples and images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from pydantic_core import to_json

from tactician.llm import Image, Message, UserMessage
from tactician.loop.output import InvalidOutput, OutputType

T = TypeVar("T")
Example: TypeAlias = tuple[str, object]
"""What it is an example of, and the example."""


def format_example(example: Example) -> str:
    """Return an example as text for a model."""
    description, value = example
    return f"Example ({description}):\n{to_json(value).decode()}"


def generate_example(output: OutputType[T]) -> tuple[str, ...]:
    """Return a generated example; nothing for text, or without valid values."""
    if output.spec is None:
        return ()
    from tactician.ai.samples import generate_sample

    try:
        value = generate_sample(output.spec.schema)
        output.parse(to_json(value).decode())
    except (InvalidOutput, RecursionError):
        return ()
    return (format_example(("of its form only; the values are made up", value)),)


def attach_images(messages: list[Message], images: Sequence[Image]) -> list[Message]:
    """Add the images to the last user message, or as a new message if the messages have none."""
    if not images:
        return messages
    for position in reversed(range(len(messages))):
        if isinstance(asked := messages[position], UserMessage):
            messages[position] = UserMessage((*asked.parts, *images))
            return messages
    return [*messages, UserMessage(tuple(images))]
