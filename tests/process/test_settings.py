"""A setting that cannot be is told where it is made, with its name and what it may be."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import pytest

from tactician import Autonomy, Budget, PlannedAgent, Platform, ProcessOptions, achieves_goal, action, planned_agent
from tactician.errors import ConfigurationError
from tactician.process import ActionRetryPolicy
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Budget(actions="x"), "Budget.actions is 'x'; it must be a whole number from 0 up"),  # type: ignore[arg-type]
        (lambda: Budget(turns=1.5), "Budget.turns is 1.5; it must be a whole number from 0 up"),  # type: ignore[arg-type]
        (lambda: Budget(tokens=True), "Budget.tokens is True; it must be a whole number from 0 up"),
        (lambda: Budget(cost=-1), "Budget.cost is -1; it must be a number from 0 up"),
        (lambda: Budget(seconds=nan), "Budget.seconds is nan; it must be a number from 0 up"),
        (
            lambda: ProcessOptions(max_parallel=0),
            "ProcessOptions.max_parallel is 0; it must be a whole number from 1",
        ),
        (lambda: ProcessOptions(delay=-1), "ProcessOptions.delay is -1; it must be a number from 0 up"),
        (lambda: ProcessOptions(tool_delay=-1), "ProcessOptions.tool_delay is -1; it must be a number from 0 up"),
        (lambda: ProcessOptions(budget=3), "ProcessOptions.budget is 3; write budget=Budget(actions=50)"),  # type: ignore[arg-type]
        (lambda: ProcessOptions(retry=3), "ProcessOptions.retry is 3; write retry=ActionRetryPolicy(attempts=3)"),  # type: ignore[arg-type]
        (lambda: ProcessOptions(memory_id=""), "ProcessOptions.memory_id is ''; it must be a name, or None"),
        (lambda: ProcessOptions(memory_id=3), "ProcessOptions.memory_id is 3; it must be a name, or None"),  # type: ignore[arg-type]
        (
            lambda: ProcessOptions(blackboard=3),  # type: ignore[arg-type]
            "ProcessOptions.blackboard is 3; write blackboard=Blackboard(...)",
        ),
        (
            lambda: ProcessOptions(verbosity=True),  # type: ignore[arg-type]
            "ProcessOptions.verbosity is True; write verbosity=Verbosity(plans=True)",
        ),
        (lambda: ProcessOptions(on_event=3), "ProcessOptions.on_event is 3; write a function, as in on_event=print"),  # type: ignore[arg-type]
        (
            lambda: ProcessOptions(terminate_when="x"),  # type: ignore[arg-type]
            "ProcessOptions.terminate_when is 'x'; write a function, as in terminate_when=lambda process: None",
        ),
        (
            lambda: ActionRetryPolicy(attempts=0),
            "ActionRetryPolicy.attempts is 0; it must be a whole number from 1 up",
        ),
        (lambda: ActionRetryPolicy(delay=-1), "ActionRetryPolicy.delay is -1; it must be a number from 0 up"),
        (
            lambda: ActionRetryPolicy(max_delay="1"),  # type: ignore[arg-type]
            "ActionRetryPolicy.max_delay is '1'; it must be a number from 0 up",
        ),
        (
            lambda: ActionRetryPolicy(on=KeyError),  # type: ignore[arg-type]
            "ActionRetryPolicy.on is <class 'KeyError'>; write a tuple of exceptions",
        ),
        (lambda: ActionRetryPolicy(on=("x",)), "ActionRetryPolicy.on is ('x',); write a tuple of exceptions"),  # type: ignore[arg-type]
        (lambda: autonomy(agent_cutoff=3), "Autonomy.agent_cutoff is 3; it must be a number from 0 to 1"),
        (lambda: autonomy(goal_cutoff=-0.1), "Autonomy.goal_cutoff is -0.1; it must be a number from 0 to 1"),
    ],
)
def test_a_value_that_cannot_be(make: Callable[[], object], told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        make()
    assert str(raised.value).startswith(told)


def autonomy(*, agent_cutoff: float = 0.5, goal_cutoff: float = 0.5) -> Autonomy:
    return Autonomy(Platform(ScriptedModel()), agent_cutoff=agent_cutoff, goal_cutoff=goal_cutoff)


@planned_agent(description="does next to nothing")
class Doer:
    @achieves_goal("done")
    @action
    def do(self) -> str:
        return "done"


@pytest.mark.parametrize("store", [None, MemoryStore()])
@pytest.mark.parametrize("options", [{"max_parallel": 2}, {}, 3])
async def test_what_are_no_options(options: ProcessOptions, store: MemoryStore | None) -> None:
    told = r"^The options are .*; write options=ProcessOptions\(\.\.\.\)$"
    with pytest.raises(ConfigurationError, match=told):
        await Platform(ScriptedModel(), store=store).register(Doer()).start("Doer", options=options)
    with pytest.raises(ConfigurationError, match=told):
        await PlannedAgent(Doer()).run(options=options)


async def test_a_mode_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match=r"^The mode is 'ajar'; it must be 'closed' or 'open'$"):
        await autonomy().run("x", mode="ajar")  # type: ignore[arg-type]


def test_the_bounds_themselves_are_fine() -> None:
    Budget(actions=0, cost=0)
    ProcessOptions(max_parallel=1, delay=0)
    ActionRetryPolicy(attempts=1, delay=0, on=(KeyError,))
    autonomy(agent_cutoff=0, goal_cutoff=1)
