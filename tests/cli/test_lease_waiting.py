"""`tactician resume` of a run whose worker was killed."""

from __future__ import annotations

import asyncio

import pytest

from tactician import MemoryStore, Platform, runnable
from tactician.cli.lease_waiting import wait_for_lease
from tactician.testing import FakeClock, ScriptedModel


@runnable
async def echo(text: str) -> str:
    return text


@pytest.mark.parametrize("lives", [False, True], ids=["killed", "alive"])
async def test_the_lease_of_a_worker_is_waited_for_while_nobody_renews_it(
    lives: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock(sleeps_wait=True)
    store = MemoryStore(clock=clock)
    platform = Platform(ScriptedModel(), store=store, clock=clock).register(echo)
    run_id = await platform.enqueue("echo", "x")
    claimed = await store.claim("runs", "ghost", 30.0, id=run_id)
    assert claimed is not None

    waiting = asyncio.create_task(wait_for_lease(platform, await platform.view_run(run_id)))
    await clock.run_for(10)
    assert not waiting.done()
    if lives:
        await store.renew(claimed[1], 30.0)
    await clock.run_for(2 if lives else 22)
    await waiting

    assert "ends in 30 s. If the worker was killed, the run continues then." in " ".join(
        capsys.readouterr().err.split()
    )
    if not lives:
        assert (await platform.resume(run_id)).output == "x"  # type: ignore[union-attr]
