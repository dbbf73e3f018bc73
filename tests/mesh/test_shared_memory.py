"""Shared memory over nodes: eventual, locked, optimistic and external."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pydantic import JsonValue

from tactician import Ensemble, MemoryStore, SqliteStore, Task
from tactician.errors import ConfigurationError, LeaseLostError, StaleVersionError
from tactician.mesh import Mesh
from tactician.mesh.shared_memory import Consistency, SharedMemory, SharedValue
from tactician.testing import FakeClock, ScriptedModel


@pytest.fixture(params=["memory", "sqlite"])
async def meshes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Mesh]]:
    """Two programs of a mesh, which share a store."""
    shared = MemoryStore()
    async with AsyncExitStack() as stack:
        stores = [shared if request.param == "memory" else SqliteStore(tmp_path / "shared.db") for _ in range(2)]
        for store in stores:
            stack.push_async_callback(store.aclose)
        yield [Mesh(f"memory://{request.node.name}", store=store) for store in stores]


def add(value: JsonValue) -> JsonValue:
    return (value if isinstance(value, int) else 0) + 1


async def test_24_a_stale_version_raises_and_the_retry_loop_succeeds(meshes: list[Mesh]) -> None:
    bar, kitchen = (mesh.memory("inventory", consistency="optimistic") for mesh in meshes)
    assert await bar.read() == SharedValue(None, 0)
    first = await bar.write({"beer": 40}, version=0)
    await kitchen.write({"beer": 39}, version=first.version)

    with pytest.raises(StaleVersionError, match="read it again") as stale:
        await bar.write({"beer": 12}, version=first.version)

    assert stale.value.version == (await bar.read()).version == 2
    calls = list[JsonValue]()

    def take_beer(value: JsonValue) -> JsonValue:
        assert isinstance(value, dict)
        calls.append(value["beer"])
        return {"beer": int(str(value["beer"])) - 1}

    async def interfere() -> None:
        await kitchen.write({"beer": 30}, version=2)

    reading = bar.read

    async def read_late() -> SharedValue:
        current = await reading()
        if not calls:
            await interfere()
        return current

    bar.read = read_late  # type: ignore[method-assign]
    assert (await bar.update(take_beer)).value == {"beer": 29}
    assert calls == [39, 30], "the first try was stale"


@pytest.mark.parametrize("consistency", ["eventual", "locked", "optimistic"])
async def test_no_update_of_many_at_once_is_lost(meshes: list[Mesh], consistency: Consistency) -> None:
    memories = [mesh.memory("count", consistency=consistency) for mesh in meshes]

    await asyncio.gather(*(memories[number % 2].update(add) for number in range(12)))

    assert (await memories[0].read()).value == 12


async def test_a_lock_keeps_others_out_and_may_be_taken_again_inside(meshes: list[Mesh]) -> None:
    bar, kitchen = (mesh.memory("inventory", consistency="locked") for mesh in meshes)
    order = list[str]()

    async def write() -> None:
        await kitchen.write("kitchen")
        order.append("kitchen")

    async with bar.lock(), bar.lock():
        writing = asyncio.create_task(write())
        await asyncio.sleep(0.05)
        await bar.write("bar")
        order.append("bar")
    await writing

    assert order == ["bar", "kitchen"]
    assert (await bar.read()).value == "kitchen"


async def test_the_lock_of_a_program_that_has_died_ends_and_its_late_write_is_refused() -> None:
    clock = FakeClock(sleeps_wait=True)
    store = MemoryStore(clock=clock)
    bar, kitchen = (SharedMemory(store, "r", "inventory", clock, "locked", None, each) for each in "ab")
    async with bar.lock():
        clock.advance(31)  # the program stood still, and renewed nothing
        writing = asyncio.create_task(kitchen.write("kitchen"))
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(1)
        await writing
        with pytest.raises(LeaseLostError):
            await bar.write("bar")

    assert (await bar.read()).value == "kitchen"


async def test_the_lock_of_a_program_that_lives_is_renewed() -> None:
    clock = FakeClock(sleeps_wait=True)
    store = MemoryStore(clock=clock)
    bar, kitchen = (SharedMemory(store, "r", "inventory", clock, "locked", None, each) for each in "ab")
    async with bar.lock():
        writing = asyncio.create_task(kitchen.write("kitchen"))
        await clock.run_for(120)
        await bar.write("bar")
        assert not writing.done()
    await clock.run_for(1)
    await writing


class Warehouse:
    """Backend of a test."""

    def __init__(self) -> None:
        self.value = SharedValue({"beer": 40}, 7)

    async def read(self, name: str) -> SharedValue:
        return self.value

    async def write(self, name: str, value: JsonValue, version: int | None) -> SharedValue:
        if version not in (None, self.value.version):
            raise StaleVersionError("stale", self.value.version)
        self.value = SharedValue({name: value}, self.value.version + 1)
        return self.value


async def test_an_external_memory_leaves_everything_to_its_backend() -> None:
    mesh = Mesh("memory://external")
    shared = mesh.memory("inventory", consistency="external", backend=Warehouse())

    assert (await shared.write(3)).version == 8
    assert (await shared.update(lambda value: value)).value == {"inventory": {"inventory": 3}}
    with pytest.raises(StaleVersionError):
        await shared.write(3, version=1)


async def test_ensembles_of_all_nodes_share_the_entries_of_a_scope(meshes: list[Mesh]) -> None:
    model = ScriptedModel("40 beers", "none")
    for mesh, text in zip(meshes, ("Count.", "Order."), strict=True):
        memory = mesh.memory("inventory").for_ensembles()
        team = Ensemble("team", tasks=[Task(text, memory=["inventory"])], model=model, memory=memory)
        await team.run("now")

    assert any("40 beers" in message.text for message in model.calls[1].messages)


async def test_a_wrong_memory_is_an_error_at_once() -> None:
    mesh = Mesh("memory://wrong", store=MemoryStore())
    with pytest.raises(ConfigurationError, match="'eventual', 'locked'"):
        mesh.memory("inventory", consistency="strong")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="has a backend"):
        mesh.memory("inventory", consistency="external")
    with pytest.raises(ConfigurationError, match="store that all nodes share"):
        Mesh("memory://wrong").memory("inventory")
    with pytest.raises(ConfigurationError, match="the version that it replaces"):
        await mesh.memory("inventory", consistency="optimistic").write(1)
    with pytest.raises(ConfigurationError, match="has no lock"):
        async with mesh.memory("inventory").lock():
            raise AssertionError
    with pytest.raises(ConfigurationError, match="are allowed"):
        await mesh.memory("inventory").write("x" * 1_000_001)
