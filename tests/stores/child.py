"""Another process that uses a store: `python -m tests.stores.child URL WORK`."""

import asyncio
import sys
from dataclasses import replace

from tactician.stores import DocumentStore, open_store
from tactician.stores.document import StoredStep
from tests.stores.conformance import HOUR, claimed, document


async def claim(store: DocumentStore) -> None:
    """Claims all that there is, once it is told to."""
    await store.list_ids("docs")
    print("ready", flush=True)
    sys.stdin.readline()
    while (found := await store.claim("docs", "child", HOUR)) is not None:
        print(found[0].id)


async def write(store: DocumentStore) -> None:
    """Saves for ever, and says after each save which version is kept."""
    current, lease = await claimed(store, seconds=0.0)
    while True:
        body = f"{current.version + 1} {'x' * 20_000}"
        current = await store.save(replace(current, body=body), lease)
        print(current.version, flush=True)


async def append(store: DocumentStore) -> None:
    """Appends for ever, and says after each step which one is kept."""
    current, lease = await claimed(store, seconds=0.0)
    number = current.steps
    while True:
        number += 1
        await store.append(lease, StoredStep(number, f"{number} {'x' * 2000}"))
        print(number, flush=True)


def loops(store: DocumentStore) -> None:
    """Uses the store in three event loops, and never closes it."""
    saved = document()
    for _ in range(3):
        saved = asyncio.run(store.save(saved))
        print(saved.version)


if __name__ == "__main__":
    opened, work = open_store(sys.argv[1]), sys.argv[2]
    if work == "loops":
        loops(opened)
    else:
        asyncio.run({"claim": claim, "write": write, "append": append}[work](opened))
