"""The list of runs has any number of them, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typing_extensions import override

from tactician import Platform
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.serve.api.runs.pages import RunChoice, read_page
from tactician.stores import DocumentStore, MemoryStore, PostgresStore, SqliteStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel
from tests.serve.api.serving import served
from tests.stores import postgres

PAGE = 1000
MOST_AT_ONCE = 500


async def fill(store: DocumentStore, first: int, last: int) -> list[str]:
    """Save runs, and return their ids."""
    ids = [f"r{number:05}" for number in range(first, last)]
    for number, run_id in enumerate(ids, first):
        status = RunStatus.FAILED if number % 100 == 7 else RunStatus.COMPLETED
        parent = "r00000" if number % 100 == 8 else None
        header = RunHeader(output=f"verse {number}")
        record = RunRecord(run_id=run_id, name="Poet", status=status, parent_id=parent, header=header, body="{}")
        await RunStore(store).save(record)
    return ids


async def fetch(client: httpx.AsyncClient, **query: object) -> dict[str, Any]:
    done = await client.get("/api/runs", params={name: str(value) for name, value in query.items()})
    assert done.status_code == 200, done.text
    shown: dict[str, Any] = done.json()
    return shown


async def list_all(client: httpx.AsyncClient, **query: object) -> list[list[str]]:
    """Return the ids of the runs of all pages."""
    page = await fetch(client, **query)
    pages = [page]
    while page["next"] is not None:
        pages.append(page := await fetch(client, **query, after=page["next"]))
    return [[run["id"] for run in page["runs"]] for page in pages]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    if request.param == "sqlite":
        yield SqliteStore(tmp_path / "runs.db")
    else:
        with postgres.running(postgres.installed()) as server:
            yield PostgresStore(f"postgresql://{server.address}/{server.create_database()}")


async def test_pages_have_each_run_once(store: DocumentStore) -> None:
    ids = await fill(store, 0, 2 * PAGE + 300)
    async with served(Platform(ScriptedModel(), store=store)) as client:
        pages = await list_all(client, limit=PAGE)
        failed = await list_all(client, limit=10, status="failed")
        found = await list_all(client, limit=10, search="verse 17", outer="true")
        first = await fetch(client, limit=PAGE)
        last = first["runs"][-1]["id"]
        await RunStore(store).delete(last)
        added = await fill(store, 3 * PAGE, 3 * PAGE + 3)
        second = await fetch(client, limit=PAGE, after=first["next"])

    assert [len(page) for page in pages] == [PAGE, PAGE, 300]
    assert [run_id for page in pages for run_id in page] == ids[::-1]
    assert [run_id for page in failed for run_id in page] == [name for name in ids[::-1] if name.endswith("07")]
    texts = {name: f"verse {int(name[1:])}" for name in ids[::-1] if not name.endswith("08")}
    assert [run_id for page in found for run_id in page] == [name for name, text in texts.items() if "17" in text]
    assert [run["id"] for run in second["runs"]] == pages[1]
    assert not {run["id"] for run in second["runs"]} & {last, *added}


class WatchedStore(MemoryStore):
    """Store that knows how many documents it has given at once."""

    most_found = 0

    @override
    async def find(self, collection: str, **choice: Any) -> list[StoredDocument]:
        found = await super().find(collection, **choice)
        self.most_found = max(self.most_found, len(found))
        return found


async def test_a_search_reads_some_thousands_of_runs_at_a_time() -> None:
    store = WatchedStore()
    await fill(store, 0, 10_200)
    platform, choice = Platform(ScriptedModel(), store=store), RunChoice(words=("r00003",))
    first = await read_page(platform, choice, 10, None)
    assert (first.runs, first.next is None) == ((), False)
    second = await read_page(platform, choice, 10, first.next)
    assert [run.id for run in second.runs] == ["r00003"]
    assert second.next is None
    assert store.most_found <= MOST_AT_ONCE


@pytest.mark.parametrize("query", ["limit=1001", "after=-1", "after=x", "after=99999999999999999"])
async def test_pages_that_are_none(query: str) -> None:
    async with served(Platform(ScriptedModel(), store=MemoryStore())) as client:
        assert (await client.get(f"/api/runs?{query}")).status_code == 422
