"""What a model is told beside the prompt: instructions, examples and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from pydantic_core import to_json

from tactician.ai.samples import generate_sample
from tactician.llm import Image, Message, UserMessage
from tactician.loop import InvalidOutput, OutputType
from tactician.prompts import PromptContributor

T = TypeVar("T")
Example: TypeAlias = tuple[str, object]
"""What it is an example of, and the example."""


def build_instructions(
    system: Iterable[str], contributors: Sequence[PromptContributor], examples: Iterable[str]
) -> str:
    """The system prompt: what the program says, between what contributors have for its beginning and for its end."""
    last = [one for one in contributors if one.place == "end"]
    first = [one for one in contributors if one.place != "end"]
    texts = (*(one.contribution() for one in first), *system, *examples, *(one.contribution() for one in last))
    return "\n\n".join(filter(None, texts))


def format_example(example: Example) -> str:
    """An example as a model reads it."""
    description, value = example
    return f"Example ({description}):\n{to_json(value).decode()}"


def generate_example(output: OutputType[T]) -> tuple[str, ...]:
    """An example with made-up values; none for text, nor where no values come to mind that would be valid."""
    if output.spec is None:
        return ()
    try:
        value = generate_sample(output.spec.schema)
        output.parse(to_json(value).decode())
    except (InvalidOutput, RecursionError):
        return ()
    return (format_example(("of its form only; the values are made up", value)),)


def attach_images(messages: list[Message], images: Sequence[Image]) -> list[Message]:
    """The pictures join the last user message; without one, they are one."""
    if not images:
        return messages
    for position in reversed(range(len(messages))):
        if isinstance(asked := messages[position], UserMessage):
            messages[position] = UserMessage((*asked.parts, *images))
            return messages
    return [*messages, UserMessage(tuple(images))]
