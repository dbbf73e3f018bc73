"""Loops: tasks that are repeated until a predicate holds."""

from __future__ import annotations

from tactician import Ensemble, Task
from tactician.ensemble import Loop
from tests.ensemble.support import over, says


async def test_x() -> None:
    draft, critique = (
        Task("Draft", agent=says("Writer", "one", "two")),
        Task("Critique", agent=says("Critic", "no", "APPROVED")),
    )
    loop = Loop([draft, critique], until=lambda t: "APPROVED" in t.last.raw, id="improve")
    result = await Ensemble("E", [loop, Task("Publish", handler=lambda t: t.context_outputs[0].raw)]).run(
        context=over()
    )
    assert result.raw == "two"
    assert result["Draft"].raw == "two"
