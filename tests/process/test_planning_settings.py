"""Which limits of planning hold: those of the process, of its agent, of the platform, or of `tactician.toml`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tactician import Platform, ProcessOptions
from tactician.planning import Action, AStarPlanner, Goal, PlanningBudget, SearchLimitExceeded, WorldState
from tactician.testing import ScriptedModel
from tests.process.hard_agents import build_gatherer


def limited(expansions: int) -> PlanningBudget:
    return PlanningBudget(time=None, expansions=expansions)


async def find_limit(
    *, process: PlanningBudget | None, agent: PlanningBudget | None, platform: PlanningBudget | None
) -> str:
    """Return the limit that planning fails at, which is too low to find a plan."""
    gatherer = build_gatherer(60, 20, planning=agent)
    started = await Platform(ScriptedModel(), planning=platform).start(
        gatherer, "x", options=ProcessOptions(planning=process)
    )
    assert started.failure is not None
    found = re.search(r"the limit of planning, (expansions = \d+)", started.failure)
    assert found is not None, started.failure
    return found[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text("[planning]\nexpansions = 4\nmemory = 200.0\n", encoding="utf-8")
    monkeypatch.setenv("TACTICIAN_CONFIG", str(file))


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("process", "agent", "platform", "expected"),
    [
        (limited(1), limited(2), limited(3), 1),
        (limited(1), None, None, 1),
        (None, limited(2), limited(3), 2),
        (None, limited(2), None, 2),
        (None, None, limited(3), 3),
        (None, None, None, 4),
    ],
)
async def test_the_nearest_limits_hold(
    process: PlanningBudget | None, agent: PlanningBudget | None, platform: PlanningBudget | None, expected: int
) -> None:
    assert await find_limit(process=process, agent=agent, platform=platform) == f"expansions = {expected}"


FACTS = {f"fact {n}": True for n in range(8)}
SOURCES = [
    Action(f"source {n}", {}, dict.fromkeys([f"fact {n % 8}", f"fact {(3 * n + 1) % 8}"], True), 1 + n % 3)
    for n in range(24)
]
ALL = Goal("all", FACTS)


def test_the_limits_of_a_call_replace_those_of_the_planner() -> None:
    planner = AStarPlanner(budget=limited(1))
    with pytest.raises(SearchLimitExceeded, match="expansions = 1, is reached"):
        planner.plan(WorldState(), SOURCES, ALL)

    strict = planner.consult(WorldState(), SOURCES, [ALL], budget=limited(0), asks=False)
    with pytest.raises(SearchLimitExceeded, match="expansions = 0, is reached"):
        strict.advance()

    generous = planner.consult(WorldState(), SOURCES, [ALL], budget=limited(1000), asks=False)
    generous.advance()
    assert generous.plan is not None
