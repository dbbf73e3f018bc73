"""Names of the models that a server of `OPENAI_BASE_URL` has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import aiohttp
from pydantic_core import from_json

from tactician.llm.http import http_session, read_body
from tactician.llm.provider import join_url
from tactician.llm.provider_access import find_base_url
from tactician.llm.providers import PROVIDERS

_PROVIDER: Final = "openai"
_PATH: Final = "/v1/models"
_SECONDS: Final = 5.0
_LARGEST: Final = 1_000_000
_MOST: Final = 100


async def list_served_models(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the models at the server of `OPENAI_BASE_URL`; none where it does not say within 5 seconds.

    The server is asked as OpenAI's API documents it: `GET /v1/models`.

    Raises:
        ConfigurationError: when the value is not a URL.
    """
    base_url = find_base_url(_PROVIDER, environment)
    if base_url is None:
        return ()
    key = environment.get(PROVIDERS[_PROVIDER].key_variable or "", "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await (await http_session()).get(join_url(base_url, _PATH), headers=headers, allow_redirects=False)
            body = await read_body(answer, _LARGEST)
        return tuple(_read_names(from_json(body)))[:_MOST] if answer.status == 200 else ()
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return ()


def _read_names(answer: object) -> list[str]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    entries = listed if isinstance(listed, list) else []
    names = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return [name for name in names if isinstance(name, str) and name]
