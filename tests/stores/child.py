"""Another process that uses a store: `python -m tests.stores.child URL WORK`."""

import asyncio
import sys
from dataclasses import replace

from tactician.stores import SqlRunStore
from tests.stores.conformance import HOUR, record, taken


async def claim(store: SqlRunStore) -> None:
    """Claims all that there is, once it is told to."""
    await store.records()
    print("ready", flush=True)
    sys.stdin.readline()
    while (claimed := await store.claim("child", HOUR)) is not None:
        print(claimed[0].run_id)


async def write(store: SqlRunStore) -> None:
    """Saves for ever, and says after each save which version is kept."""
    current, lease = await taken(store, seconds=0.0)
    while True:
        state = f"{current.version + 1} {'x' * 20_000}"
        current = await store.save(replace(current, state=state), lease)
        print(current.version, flush=True)


def loops(store: SqlRunStore) -> None:
    """Uses the store in three event loops, and never closes it."""
    saved = record()
    for _ in range(3):
        saved = asyncio.run(store.save(saved))
        print(saved.version)


if __name__ == "__main__":
    opened, work = SqlRunStore(sys.argv[1]), sys.argv[2]
    if work == "loops":
        loops(opened)
    else:
        asyncio.run(claim(opened) if work == "claim" else write(opened))
