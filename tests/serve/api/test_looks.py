"""A stream of events looks at the record of its run, and not at the runs inside it."""

from __future__ import annotations

from typing_extensions import override

from tactician import Agent, Platform
from tactician.platform import RunTree
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import served, start


class CountingPlatform(Platform):
    """Platform that counts how often somebody reads a run with all runs inside it."""

    trees = 0

    @override
    async def tree(self, run_id: str) -> RunTree:
        self.trees += 1
        return await super().tree(run_id)


async def test_a_run_is_started_and_streamed_without_its_tree() -> None:
    agent = Agent("Talker", model=ScriptedModel("hello"))
    platform = CountingPlatform(ScriptedModel(), store=MemoryStore()).register(agent)
    async with served(platform) as client:
        run_id = await start(client, "talker", "hi")
        stream = await client.get(f"/api/runs/{run_id}/events")

    assert stream.text.count("event: end\n") == 1
    assert '"result":"hello"' in stream.text
    assert platform.trees == 0
