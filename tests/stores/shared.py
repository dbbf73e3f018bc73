"""What every store keeps to that several processes of the operating system use at the same time."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path

import pytest

from tactician.runs import RunStore
from tactician.stores import SqlRunStore
from tests.stores.conformance import HOUR, RunStoreConformance, record, taken

ROOT = Path(__file__).parents[2]


async def started(url: str, work: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-m", "tests.stores.child", url, work, cwd=ROOT, stdout=PIPE, stdin=PIPE
    )


class SharedStoreConformance(RunStoreConformance):
    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    async def opened(self, url: str) -> Callable[[], RunStore]:
        return lambda: SqlRunStore(url)

    async def test_many_processes_share_the_runs(self, url: str, store: RunStore) -> None:
        children = [await started(url, "claim") for _ in range(3)]  # all make the tables at once, and say so
        for child in children:
            assert child.stdout is not None
            assert await child.stdout.readline() == b"ready\n"
        for number in range(120):
            await store.save(record(f"r{number}"))

        printed = await asyncio.gather(*(child.communicate(b"go\n") for child in children))

        assert [child.returncode for child in children] == [0] * 3
        claimed = [line for output, _ in printed for line in output.decode().split()]
        assert sorted(claimed) == sorted(f"r{number}" for number in range(120))

    async def test_of_many_who_open_a_new_database_at_once_nobody_fails(self, url: str) -> None:
        stores = [SqlRunStore(url) for _ in range(20)]

        found = await asyncio.gather(*(store.load("r") for store in stores))

        assert found == [None] * 20
        for store in stores:
            await store.aclose()

    @pytest.mark.parametrize("steps", [1, 40])
    async def test_what_a_writer_has_saved_survives_its_kill(self, url: str, store: RunStore, steps: int) -> None:
        await store.save(record())
        writer = await started(url, "write")
        assert writer.stdout is not None
        for _ in range(steps):
            last = int(await writer.stdout.readline())
        writer.kill()
        later = (await writer.stdout.read()).split(b"\n")[:-1]
        await writer.wait()

        kept = await store.load("r")

        assert kept is not None
        last = int(later[-1]) if later else last
        assert kept.version in (last, last + 1), "at most what it was just saving is there or not"
        assert kept.state.startswith(f"{kept.version} ")
        assert len(kept.state) > 20_000
        _, lease = await taken(store, "x")
        assert (await store.save(kept, lease)).version == kept.version + 1
        assert lease.fence == 2

    async def test_the_time_of_the_database_decides(self, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
        await store.save(record())
        await taken(store)

        monkeypatch.setattr("time.time", lambda: 1e11)

        assert await store.claim("x", HOUR) is None
        assert await store.claim("x", HOUR, run_id="r") is None

    async def test_a_save_that_is_interrupted_leaves_the_store_usable(self, store: RunStore) -> None:
        await store.save(record())
        for _ in range(5):
            current = await store.load("r")
            assert current is not None
            saving = asyncio.create_task(store.save(current))
            await asyncio.sleep(0)
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)

        current = await store.load("r")
        assert current is not None
        assert (await store.save(current)).version == current.version + 1

    async def test_it_can_be_used_in_one_event_loop_after_another_and_need_not_be_closed(self, url: str) -> None:
        child = await started(url, "loops")

        printed, _ = await child.communicate()

        assert (child.returncode, printed.split()) == (0, [b"1", b"2", b"3"])

    async def test_it_can_be_used_after_it_was_closed(self, store: RunStore) -> None:
        saved = await store.save(record())
        await store.aclose()
        await store.aclose()
        assert await store.load("r") == saved
