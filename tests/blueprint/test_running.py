"""What is built of a blueprint calls real servers, with the keys of the environment and what the blueprint says."""

from collections.abc import AsyncIterator

import pytest

from tactician import Blueprint
from tactician.llm import ToolCall
from tests.blueprint.constellations import ALLOW, HOSTS
from tests.support.chat_server import ChatServer
from tests.support.voices import VOICES, Saying, says

KEYS = {"ACME_KEY": "sk-acme-0123456789"}
DESK = """
type: router
name: Desk
model: small
responder: &responder {baseUrl: "%s/gateway", apiKeyEnvVar: ACME_KEY, apiFormat: openai-chat}
routes:
  - description: orders
    target:
      type: supervisor
      name: Lead
      model: large
      instructions: You lead.
      maxTurns: 4
      temperature: 0.25
      responder: *responder
      workers:
        - description: looks things up
          worker:
            type: agent
            name: Clerk
            model: tiny
            instructions: You look things up.
            maxTurns: 3
            responder: *responder
            toolClassNames: [tests.blueprint.acme.look_up]
            options: {maxTokens: 99}
  - description: anything else
    target: {type: function, functionName: tests.blueprint.acme.upwards}
"""
CHAT = VOICES["openai-chat"]


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer() as running:
        yield running


async def test_a_constellation_of_a_file_runs_against_a_server(server: ChatServer) -> None:
    server.will(
        says(CHAT, Saying('{"value": 1}')),
        says(CHAT, Saying("", calls=(ToolCall("c1", "invoke_clerk", '{"request": "Look order 7 up"}'),))),
        says(CHAT, Saying("", calls=(ToolCall("c2", "look_up", '{"number": 7}'),))),
        says(CHAT, Saying("It is order 7.")),
        says(CHAT, Saying("Order 7 is there.")),
    )
    desk = Blueprint.from_yaml(DESK % server.url).build(allow=ALLOW, environment=KEYS, hosts=HOSTS)

    result = await desk.run("Where is order 7?")

    assert result.output == "Order 7 is there."
    assert result.delegation_path == ("Desk", "Lead")
    assert {one.path for one in server.received} == {"/gateway/chat/completions"}
    assert {one.headers["authorization"] for one in server.received} == {"Bearer sk-acme-0123456789"}
    assert [body["model"] for body in server.bodies] == ["small", "large", "tiny", "tiny", "large"]
    assert [body.get("temperature") for body in server.bodies] == [None, 0.25, None, None, 0.25]
    assert "order 7" in str(server.bodies[3]["messages"])
    assert "sk-acme" not in desk.to_blueprint().to_json()
