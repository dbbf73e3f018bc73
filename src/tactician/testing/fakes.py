"""Fake context for tests of actions without a platform."""

from __future__ import annotations

from tactician.process import AgentProcess, Blackboard, OperationContext, PlannedAgentSpec
from tactician.runs import RunContext
from tactician.testing.scripted import ScriptedModel


class FakeContext(OperationContext):
    """`OperationContext` for calling an action directly: over a scripted model, with objects on the blackboard."""

    __slots__ = ()

    def __init__(self, model: ScriptedModel | None = None, *objects: object) -> None:
        run = RunContext.over(model or ScriptedModel())
        spec = PlannedAgentSpec("fake", "a fake agent", (), (), {})
        super().__init__(AgentProcess(spec, Blackboard(*objects), run), run)
