"""The yardstick: the same conversation written by hand on aiohttp, with nothing between it and the wire."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": scenario.TOOL, "description": scenario.TOOL_DESCRIPTION, "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": FUNCTION}]


def conversation() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": scenario.INSTRUCTIONS},
        {"role": "user", "content": scenario.PROMPT},
    ]


@asynccontextmanager
async def client(url: str) -> Runs:
    headers = {"Authorization": f"Bearer {scenario.API_KEY}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def call(body: dict[str, Any]) -> dict[str, Any]:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                response.raise_for_status()
                reply = await response.json()
            message: dict[str, Any] = reply["choices"][0]["message"]
            return message

        async def plain() -> str:
            return str((await call({"model": scenario.MODEL, "messages": conversation()}))["content"])

        async def tool() -> str:
            body = {"model": scenario.MODEL, "messages": conversation(), "tools": TOOLS}
            message = await call(body)
            body["messages"].append(message)
            for asked in message["tool_calls"]:
                content = await get_weather(**json.loads(asked["function"]["arguments"]))
                body["messages"].append({"role": "tool", "tool_call_id": asked["id"], "content": content})
            return str((await call(body))["content"])

        yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("aiohttp", client)
