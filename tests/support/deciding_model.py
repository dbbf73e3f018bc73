"""A model whose answers are a function of what it is asked: whoever asks the same is answered the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from zlib import crc32

from pydantic_core import to_json

from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, ToolCall, Usage
from tactician.llm.messages import messages_to_json
from tactician.llm.model import Delta

_MOST_TURNS = 3


class DecidingModel:
    """Model that calls tools for some turns, and then answers.

    Args:
        seed: another seed, and it decides otherwise.
        name: its name.
    """

    def __init__(self, seed: int, name: str = "deciding") -> None:
        self.name = name
        self.features = Features(tools=True, json_schema=True)
        self._seed = seed

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Decide by the messages."""
        number = crc32(f"{self._seed} {messages_to_json(request.messages)}".encode())
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        tools = request.tools if request.tool_choice != "none" and turn < _MOST_TURNS else ()
        parts: tuple[Text | ToolCall, ...] = (Text(f"answer {number % 1000}"),)
        if tools and number % 4:
            parts = tuple(
                ToolCall(f"call_{turn}_{place}", tools[(number + place) % len(tools)].name, _arguments(number + place))
                for place in range(1 + number % 2)
            )
        usage = Usage(input_tokens=10, output_tokens=5, requests=1, model=self.name)
        return ModelResponse(AssistantMessage(parts), usage, "stop", self.name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The same at once."""
        yield await self.generate(request)


def _arguments(number: int) -> str:
    return to_json({"request": f"request {number % 7}"}).decode()
