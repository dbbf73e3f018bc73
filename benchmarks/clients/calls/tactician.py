from __future__ import annotations

from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Run, Runs, main
from tactician.llm import Endpoint, LanguageModel, LlmOptions, ModelRequest, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.llm.model import TextDelta
from tactician.llm.remote import RemoteModel


def remote(url: str) -> RemoteModel:
    headers = {"Authorization": f"Bearer {scenario.API_KEY}"}
    return RemoteModel(scenario.MODEL, Endpoint("mock", f"{url}/chat/completions", headers))


def calls(model: LanguageModel) -> dict[str, Run]:
    def question() -> ModelRequest:
        messages = (SystemMessage(scenario.INSTRUCTIONS), UserMessage(scenario.PROMPT))
        return ModelRequest(messages, options=LlmOptions(model=scenario.MODEL))

    async def generate() -> str:
        return (await model.generate(question())).message.text

    async def stream() -> str:
        return "".join([item.text async for item in model.stream(question()) if isinstance(item, TextDelta)])

    return {"generate": generate, "stream": stream}


@asynccontextmanager
async def client(url: str) -> Runs:
    yield calls(remote(url))


if __name__ == "__main__":
    main("tactician", client)
