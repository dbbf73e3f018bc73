"""What an agent with a responder sends goes to the server of the responder, with its key, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tactician import Agent
from tactician.agents.temperature import with_temperature
from tactician.blueprint import Blueprint
from tactician.conversation import Summarization
from tactician.llm import Responder, UserMessage
from tactician.runs import Runnable
from tests.support.chat_server import ChatServer, answers, completion

OURS, OTHERS = "key-of-the-responder", "key-of-the-environment"
WINDOW = {"strategyType": "summarization", "summarizationModel": "small", "keepRecentMessages": 1, "maxTokens": 200}


def build(url: str, window: dict[str, Any], temperature: float | None) -> Runnable:
    responder = {"baseUrl": url, "apiFormat": "openai-chat", "apiKeyEnvVar": "ACME_KEY"}
    data: dict[str, Any] = {"type": "agent", "name": "A", "model": "large", "maxTurns": 2, "instructions": "Help."}
    data |= {"responder": responder} | {
        "contextManagement": window,
        **({} if temperature is None else {"temperature": temperature}),
    }
    blueprint = Blueprint.from_json(json.dumps(data))
    return blueprint.build(environment={"ACME_KEY": OURS}, variables=["ACME_KEY"], hosts=["127.0.0.1"])


def create(url: str, temperature: float | None) -> Agent[str]:
    model = Responder(base_url=url, api_format="openai-chat", api_key_env="ACME_KEY").create_model(
        "large", environment={"ACME_KEY": OURS}
    )
    window = Summarization(200, 1, "small")
    return Agent("A", model=with_temperature(model, temperature), instructions="Help.", window=window)


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("made", ["blueprint", "blueprint with a chain", "code", "code as a blueprint"])
async def test_a_summary_is_asked_of_the_server_of_the_agent(
    made: str, temperature: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ChatServer(answers(completion("ok"))) as ours, ChatServer(answers(completion("ok"))) as others:
        monkeypatch.setenv("OPENAI_API_KEY", OTHERS)
        monkeypatch.setenv("OPENAI_BASE_URL", others.url)
        monkeypatch.setenv("ACME_KEY", OURS)
        window = {"strategyType": "chain", "strategies": [WINDOW]} if "chain" in made else WINDOW
        agent = build(ours.url, window, temperature) if made.startswith("b") else create(ours.url, temperature)
        if made == "code as a blueprint":
            agent = create(ours.url, temperature).to_blueprint().build()
        talk = [UserMessage("word " * 40) for _ in range(9)]
        await agent.run(talk)
    assert others.received == []
    assert [request.body["model"] for request in ours.received] == ["small", "large"]
    assert all(OURS in json.dumps(dict(request.headers)) for request in ours.received)
