"""Cost of taking and finishing a message while many others wait: the same as with few."""

from __future__ import annotations

import gc
import sqlite3
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tactician import MemoryStore
from tactician.mesh.call import Calls
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.transports.addresses import open_transport
from tactician.stores.document import AT_ONCE, StoredDocument
from tests.mesh.conformance import LEASE, take
from tests.stores.postgres import Server
from tests.support.brokers import Broker
from tests.support.effort import EFFORT

FEW, MANY = 1_000, 10_000 if EFFORT == 1 else 100_000
ROUNDS = 5
COPY = """
INSERT INTO tactician_documents (collection, id, version, kind, name, status, priority, due_at, is_closed, created_at,
  updated_at, header)
SELECT collection, name || v, version, kind, name, status, priority, due_at, is_closed, created_at, updated_at, header
FROM tactician_documents, {numbers}
"""
NUMBERS = (
    "(WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < {count}) SELECT v FROM n) AS numbers"
)
COPY_BODIES = """
INSERT INTO tactician_bodies (document, body)
SELECT d.number, (SELECT body FROM tactician_bodies LIMIT 1) FROM tactician_documents d
WHERE d.number NOT IN (SELECT document FROM tactician_bodies)
"""


async def take_and_finish(url: str, times: int = ROUNDS) -> None:
    transport = open_transport(url)
    await transport.open()
    for _ in range(times):
        (message,) = await take(transport, "kitchen")
        await transport.acknowledge(message)
    await transport.aclose()


async def send(url: str) -> None:
    transport = open_transport(url)
    await transport.open()
    for queue in ("bar", "kitchen"):
        await transport.send(queue, b"{}")
    await transport.aclose()


async def count_calls(take: Callable[[], Awaitable[None]]) -> int:
    """Return the number of calls of functions of some rounds."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    gc.disable()  # whose callbacks are calls, too
    sys.setprofile(count)
    try:
        for _ in range(ROUNDS):
            await take()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


async def count_in_memory(realm: str, waiting: int) -> int:
    transport = open_transport(f"memory://{realm}-{waiting}")
    for number in range(waiting):
        await transport.send("kitchen", f"{number}".encode())

    async def take() -> None:
        (message,) = await transport.receive("kitchen", limit=1, lease=LEASE, wait=0.0)
        await transport.acknowledge(message)

    return await count_calls(take)


async def count_in_store(waiting: int) -> int:
    """Return the calls of claims after the first, which puts all documents in order."""
    store = MemoryStore()
    for number in range(waiting):
        await store.save(
            StoredDocument(collection="runs", id=f"{number}", body="", due_at=AT_ONCE, priority=number % 7)
        )

    async def take() -> None:
        claimed = await store.claim("runs", "worker", LEASE)
        assert claimed is not None
        document, lease = claimed
        await store.save(replace(document, is_closed=True, due_at=None), lease)
        await store.release(lease)

    await take()
    return await count_calls(take)


async def test_memory_takes_and_finishes_with_as_many_calls_as_with_few(realm: str) -> None:
    _, few, many = [await count_in_memory(realm, waiting) for waiting in (ROUNDS, FEW, MANY)]
    assert few > 10 * ROUNDS
    assert many == few


async def test_a_store_in_memory_takes_and_finishes_with_as_many_calls_as_with_few() -> None:
    _, few, many = [await count_in_store(waiting) for waiting in (2 * ROUNDS, FEW, MANY)]
    assert few > 10 * ROUNDS
    assert many == few


def test_a_request_that_nobody_waits_for_in_memory_has_no_events() -> None:
    calls = Calls()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(FEW):
            calls.open(f"request {number}")
        size = (tracemalloc.get_traced_memory()[0] - before) / FEW
    finally:
        tracemalloc.stop()
    assert size < 800, "three events alone take 2,300 bytes"


async def test_a_moment_of_a_request_is_seen_before_and_after_it_has_come() -> None:
    calls, reply = Calls(), MeshReply(request_id="1", node="kitchen", status="completed")
    early = calls.open("1")
    waiting = early.is_answered
    calls.note(reply)
    late = calls.open("1")
    assert waiting.is_set()
    assert (early.is_answered.is_set(), early.is_heard.is_set(), late.is_answered.is_set()) == (True, True, False)
    early.expect("bar")
    assert early.is_answered.is_set(), "a result counts wherever it comes from"
    late.give_up()
    assert late.is_heard.is_set()
    late.expect("bar")
    assert not late.is_heard.is_set()


@pytest.fixture
def instructions() -> Iterator[list[int]]:
    """Number of instructions of SQLite's virtual machine so far."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    def watch(connection: sqlite3.Connection, _: object) -> None:
        connection.set_progress_handler(count, 1)

    event.listen(Engine, "connect", watch)
    yield counted
    event.remove(Engine, "connect", watch)


async def count_in_sqlite(folder: Path, waiting: int, counted: list[int]) -> int:
    path = folder / f"{waiting}.db"
    url = f"sqlite:///{path}"
    await send(url)
    with closing(sqlite3.connect(path)) as database:
        database.execute(COPY.format(numbers=NUMBERS.format(count=waiting)))
        database.execute(COPY_BODIES)
        database.commit()
    counted[0] = 0
    await take_and_finish(url)
    return counted[0]


@pytest.mark.soak
async def test_sqlite_takes_and_finishes_with_as_many_instructions_as_with_few(
    tmp_path: Path, instructions: list[int]
) -> None:
    few, many = [await count_in_sqlite(tmp_path, waiting, instructions) for waiting in (FEW, MANY)]
    assert few > 500
    assert many <= few * 1.1


async def count_in_postgres(server: Server, waiting: int) -> int:
    url = f"postgresql://{server.address}/{server.create_database()}"
    await send(url)
    database = await asyncpg.connect(url)
    await database.execute(COPY.format(numbers=NUMBERS.format(count=waiting)))
    await database.execute(COPY_BODIES)
    await database.execute("VACUUM ANALYZE")
    before = await count_blocks(database)
    await take_and_finish(url)
    blocks = await count_blocks(database) - before
    await database.close()
    return blocks


async def count_blocks(database: asyncpg.Connection) -> int:
    """Return the blocks of tables and indexes that connections have read that have ended."""
    await database.execute("SELECT pg_stat_force_next_flush()")
    await database.execute("SELECT pg_stat_clear_snapshot()")
    statement = "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) FROM pg_statio_user_tables"
    return int(await database.fetchval(statement))


@pytest.mark.soak
async def test_postgresql_takes_and_finishes_with_as_many_blocks_as_with_few(postgres_server: Server) -> None:
    few, many = [await count_in_postgres(postgres_server, waiting) for waiting in (FEW, MANY)]
    assert few > 20
    assert many <= few * 2, "trees are a level or two higher"


async def count_in_redis(url: str, waiting: int) -> dict[str, int]:
    await send(url)
    async with Redis.from_url(url) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(waiting):
            pipeline.xadd("tactician:queue:kitchen", {"body": f"{number}"})
        await pipeline.execute()
        await client.config_resetstat()
        await take_and_finish(url)
        statistics = await client.info("commandstats")
        await client.delete("tactician:queue:kitchen")
    return {
        name: figures["calls"] for name, figures in statistics.items() if name.startswith(("cmdstat_x", "cmdstat_z"))
    }


@pytest.mark.soak
async def test_redis_takes_and_finishes_with_as_many_commands_as_with_few(redis_broker: Broker) -> None:
    few, many = [await count_in_redis(redis_broker.url, waiting) for waiting in (FEW, MANY)]
    assert few["cmdstat_xreadgroup"] == ROUNDS
    assert many == few
