"""Program that MCP's conformance suite starts for each of its client scenarios; the last argument is the server's URL.

It does everything with `McpServer`, as agents do.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tactician import Agent
from tactician.llm.model import JsonSchema
from tactician.mcp import McpError, McpServer
from tactician.runs import RunContext, RunStatus
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import Tool

SCENARIO: Final = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
REVISION: Final = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2026-07-28")
GIVEN: Final[Mapping[str, object]] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
OLD_SERVER: Final = "json-schema-ref-no-deref"
"""Scenario of the newer revision whose server speaks the older protocol only."""
_EXAMPLES: Final[Mapping[str, object]] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "array": []}


class Tokens:
    """Storage of tokens in memory."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._tokens: OAuthToken | None = None
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class Browser:
    """Person who allows everything at once."""

    def __init__(self) -> None:
        self._query: dict[str, list[str]] = {}

    async def open(self, url: str) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(url, follow_redirects=False)
        self._query = parse_qs(urlsplit(response.headers["location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        first = {name: values[0] for name, values in self._query.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


def authenticate(url: str) -> httpx2.Auth | None:
    """The authentication that a scenario needs."""
    if not SCENARIO.startswith("auth/"):
        return None
    if SCENARIO == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(
            url, Tokens(), str(GIVEN["client_id"]), str(GIVEN["client_secret"]), "client_secret_basic"
        )
    if SCENARIO == "auth/client-credentials-jwt":
        jwt = SignedJWTParameters(
            issuer=str(GIVEN["client_id"]),
            subject=str(GIVEN["client_id"]),
            signing_algorithm=str(GIVEN.get("signing_algorithm", "ES256")),
            signing_key=str(GIVEN["private_key_pem"]),
        )
        return PrivateKeyJWTOAuthProvider(url, Tokens(), str(GIVEN["client_id"]), jwt.create_assertion_provider())
    callback = AnyUrl("http://localhost:3000/callback")
    known = None
    if "client_id" in GIVEN:
        known = OAuthClientInformationFull(
            client_id=str(GIVEN["client_id"]),
            client_secret=str(GIVEN.get("client_secret") or "") or None,
            redirect_uris=[callback],
            token_endpoint_auth_method="client_secret_basic",
        )
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="tactician", redirect_uris=[callback])
    return OAuthClientProvider(
        url,
        metadata,
        Tokens(known),
        browser.open,
        browser.come_back,
        client_metadata_url="https://conformance-test.local/client-metadata.json",
    )


def invent_arguments(schema: JsonSchema) -> dict[str, object]:
    """Arguments that a schema requires."""
    properties, required = schema.get("properties", {}), schema.get("required")
    assert isinstance(properties, dict)
    names = required if isinstance(required, list) else []
    return {name: _EXAMPLES.get(properties.get(name, {}).get("type"), {}) for name in names}


def fill_in(schema: JsonSchema) -> dict[str, object]:
    """Answers of a person who takes the defaults and says yes."""
    properties = schema.get("properties")
    assert isinstance(properties, dict)
    return {
        name: part.get("default", part.get("type") == "boolean")
        for name, part in properties.items()
        if "default" in part or part.get("type") == "boolean"
    }


async def call(server: McpServer, name: str, arguments: Mapping[str, object]) -> None:
    """Call a tool in a run, and answer its questions as a person."""
    agent = Agent("Conformance", tools=[server.only(name)], model=ScriptedModel(ToolCall(name, **arguments), "done"))
    context = RunContext.over(ScriptedModel())
    result = await agent.run("call it", context=context)
    while result.status is RunStatus.WAITING:
        answers = {one.id: fill_in(one.schema or {}) for one in result.pending}
        result = await agent.resume(result.run_id, answers, context=context)


async def follow(server: McpServer, tools: Mapping[str, Tool]) -> None:
    """Do what a scenario asks."""
    if SCENARIO == "json-schema-2020-12-preservation":
        await call(server, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"].spec.parameters})
    elif SCENARIO == "http-custom-headers":
        calls = GIVEN.get("toolCalls", [])
        assert isinstance(calls, list)
        for one in calls:
            if one["name"] in tools:
                await call(server, one["name"], one.get("arguments") or {})
    elif SCENARIO == "sep-2322-client-request-state":
        for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
            await call(server, name, {})
    elif SCENARIO in ("tools_call", "request-metadata", "http-standard-headers"):
        await call(server, "add_numbers", {"a": 5, "b": 3})
    elif SCENARIO not in ("initialize", OLD_SERVER):
        for name, one in tools.items():
            await call(server, name, invent_arguments(one.spec.parameters))


async def main(url: str) -> None:
    """Connect to the server of a scenario, and do what it asks."""
    protocol = "auto" if REVISION >= "2026" and SCENARIO != OLD_SERVER else "legacy"
    # The suite starts the programs of all scenarios at once: on a busy machine each of them is slow.
    async with McpServer.http(
        url, auth=authenticate(url), protocol=protocol, timeout=600, connect_timeout=600
    ) as server:
        await follow(server, {one.name: one for one in await server.load_tools()})


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[-1]))
    except McpError as error:
        sys.exit(str(error))
