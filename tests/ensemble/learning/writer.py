"""Program that writes to a memory: `python -m tests.ensemble.learning.writer ADDRESS NAME`."""

from __future__ import annotations

import asyncio
import sys

from tactician import Scope, SqlMemory
from tests.ensemble.learning.support import over


async def main(address: str, name: str) -> None:
    memory, context = SqlMemory(address, {"all": Scope(), "few": Scope(keep_last=10)}), over()
    await memory.entries("all")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(25):
        for scope in ("all", "few"):
            await memory.add(scope, f"{name}{number}", context=context)
    await memory.aclose()


asyncio.run(main(*sys.argv[1:]))
