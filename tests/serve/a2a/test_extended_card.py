"""The extended card: skills that only those see and use who have said who they are."""

from __future__ import annotations

import httpx
import pytest
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
from starlette.requests import HTTPConnection

from tactician import Agent, Platform
from tactician.a2a import RemoteAgent, RemoteCardError
from tactician.serve import A2aSettings
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.a2a.test_connections import create_keys
from tests.serve.a2a.serving import CLIENTS, JsonRpc, RefusedError, Rest, create_message, serve_a2a

TOKEN = {"Authorization": "Bearer anna"}
PRIVATE, PUBLIC = create_keys()
SIGNED = A2aSettings(name="Office", poll=0.05, signing_key=PRIVATE)
OPEN = Agent("Clock", description="Tells the time", model=ScriptedModel(*["Noon."] * 4))
SECRET = Agent("Ledger", description="Knows the accounts", model=ScriptedModel(*["Ten."] * 4))
REFUSED = {JsonRpc: -32600, Rest: 400}


class Tokens(AuthenticationBackend):
    """Whoever sends a token has its name."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Return who calls."""
        _, _, token = conn.headers.get("authorization", "").partition(" ")
        return (AuthCredentials(), SimpleUser(token)) if token else None


def create_platform() -> Platform:
    return Platform(ScriptedModel(), store=MemoryStore())


@pytest.mark.parametrize("client_type", CLIENTS)
async def test_it_has_the_skills_of_authenticated_users(client_type: type[JsonRpc] | type[Rest]) -> None:
    async with (
        create_platform() as platform,
        serve_a2a(platform, OPEN, extended=[SECRET], backend=Tokens(), settings=SIGNED) as url,
        httpx.AsyncClient() as nobody,
        httpx.AsyncClient(headers=TOKEN) as anna,
    ):
        public = ParseDict((await nobody.get(f"{url}/.well-known/agent-card.json")).json(), AgentCard())
        extended = ParseDict(await client_type(anna, url).call("GetExtendedAgentCard", {}), AgentCard())
        with pytest.raises(RefusedError, match="authenticated users") as refused:
            await client_type(nobody, url).call("GetExtendedAgentCard", {})
        message = create_message("How much?", metadata={"skillId": "ledger"})
        with pytest.raises(RefusedError, match="There is no skill 'ledger'"):
            await client_type(nobody, url).call("SendMessage", {"message": message})
        done = await client_type(anna, url).call("SendMessage", {"message": message})

    assert [skill.id for skill in public.skills] == ["clock"]
    assert public.capabilities.extended_agent_card
    assert public.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert [skill.id for skill in extended.skills] == ["clock", "ledger"]
    assert len(extended.signatures) == 1
    assert refused.value.code == REFUSED[client_type]
    assert done["task"]["artifacts"][0]["parts"][0]["text"] == "Ten."


async def test_remote_agents_find_the_skill_by_their_token() -> None:
    async with (
        create_platform() as platform,
        serve_a2a(platform, OPEN, extended=[SECRET], backend=Tokens(), settings=SIGNED) as url,
    ):
        remote = await RemoteAgent.discover(url, skill="ledger", headers=TOKEN, verify_key=PUBLIC)
        with pytest.raises(RemoteCardError, match="ledger"):
            await RemoteAgent.discover(url, skill="ledger")
        answer = await remote.run("How much?")

    assert (remote.description, answer.output) == ("Knows the accounts", "Ten.")
