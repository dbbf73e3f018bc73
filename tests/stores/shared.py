"""What every store keeps to that several processes of the operating system use at the same time."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path

import pytest

from tactician.stores import DocumentStore, open_store
from tests.stores.codecs import StoreConformance
from tests.stores.conformance import HOUR, claimed, document

ROOT = Path(__file__).parents[2]


async def started(url: str, work: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-m", "tests.stores.child", url, work, cwd=ROOT, stdout=PIPE, stdin=PIPE
    )


class SharedStoreConformance(StoreConformance):
    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    async def opened(self, url: str) -> Callable[[], DocumentStore]:
        return lambda: open_store(url)

    async def test_many_processes_share_the_documents(self, url: str, store: DocumentStore) -> None:
        children = [await started(url, "claim") for _ in range(3)]  # all make the tables at once, and say so
        for child in children:
            assert child.stdout is not None
            assert await child.stdout.readline() == b"ready\n"
        for number in range(120):
            await store.save(document(f"d{number}"))

        printed = await asyncio.gather(*(child.communicate(b"go\n") for child in children))

        assert [child.returncode for child in children] == [0] * 3
        found = [line for output, _ in printed for line in output.decode().split()]
        assert sorted(found) == sorted(f"d{number}" for number in range(120))

    async def test_of_many_who_open_a_new_database_at_once_nobody_fails(self, url: str) -> None:
        stores = [open_store(url) for _ in range(20)]

        found = await asyncio.gather(*(store.load("docs", "d") for store in stores))

        assert found == [None] * 20
        for store in stores:
            await store.aclose()

    @pytest.mark.parametrize("steps", [1, 40])
    async def test_what_a_writer_has_saved_survives_its_kill(self, url: str, store: DocumentStore, steps: int) -> None:
        await store.save(document())
        writer = await started(url, "write")
        assert writer.stdout is not None
        for _ in range(steps):
            last = int(await writer.stdout.readline())
        writer.kill()
        later = (await writer.stdout.read()).split(b"\n")[:-1]
        await writer.wait()

        kept = await store.load("docs", "d")

        assert kept is not None
        last = int(later[-1]) if later else last
        assert kept.version in (last, last + 1), "at most what it was just saving is there or not"
        assert kept.text.startswith(f"{kept.version} ")
        assert len(kept.text) > 20_000
        _, lease = await claimed(store, "x")
        assert (await store.save(kept, lease)).version == kept.version + 1
        assert lease.fence == 2

    async def test_steps_survive_the_kill_of_who_appends_them(self, url: str, store: DocumentStore) -> None:
        await store.save(document())
        last = 0
        for _ in range(2):
            writer = await started(url, "append")
            assert writer.stdout is not None
            for _ in range(20):
                last = int(await writer.stdout.readline())
            writer.kill()
            later = (await writer.stdout.read()).split(b"\n")[:-1]
            await writer.wait()
            last = int(later[-1]) if later else last

            kept = await store.load_steps("docs", "d")

            assert len(kept) in (last, last + 1), "at most what it was just appending is there or not"
            assert [one.text.split()[0] for one in kept] == [str(one.number) for one in kept]
            assert {len(one.text.split()[1]) for one in kept} == {2000}

    async def test_the_time_of_the_database_decides(
        self, store: DocumentStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.save(document())
        await claimed(store)

        monkeypatch.setattr("time.time", lambda: 1e11)

        assert await store.claim("docs", "x", HOUR) is None
        assert await store.claim("docs", "x", HOUR, id="d") is None

    async def test_a_save_that_is_interrupted_leaves_the_store_usable(self, store: DocumentStore) -> None:
        await store.save(document())
        for _ in range(5):
            current = await store.load("docs", "d")
            assert current is not None
            saving = asyncio.create_task(store.save(current))
            await asyncio.sleep(0)
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)

        current = await store.load("docs", "d")
        assert current is not None
        assert (await store.save(current)).version == current.version + 1

    async def test_it_can_be_used_in_one_event_loop_after_another_and_need_not_be_closed(self, url: str) -> None:
        child = await started(url, "loops")

        printed, _ = await child.communicate()

        assert (child.returncode, printed.split()) == (0, [b"1", b"2", b"3"])

    async def test_it_can_be_used_after_it_was_closed(self, store: DocumentStore) -> None:
        saved = await store.save(document())
        await store.aclose()
        await store.aclose()
        assert await store.load("docs", "d") == saved
