from __future__ import annotations

from contextlib import asynccontextmanager

from pydantic_ai import ModelRequest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main


@asynccontextmanager
async def client(url: str) -> Runs:
    model = OpenAIChatModel(scenario.MODEL, provider=OpenAIProvider(base_url=url, api_key=scenario.API_KEY))

    def question() -> list[ModelRequest]:
        return [ModelRequest.user_text_prompt(scenario.PROMPT, instructions=scenario.INSTRUCTIONS)]

    async def generate() -> str:
        return (await model_request(model, question())).text or ""

    async def stream() -> str:
        pieces = []
        async with model_request_stream(model, question()) as events:
            async for event in events:
                if isinstance(event, PartDeltaEvent):
                    pieces.append(event.delta.content_delta)
                elif isinstance(event, PartStartEvent):
                    pieces.append(event.part.content)
        return "".join(pieces)

    yield {"generate": generate, "stream": stream}


if __name__ == "__main__":
    main("pydantic-ai-slim", client)
