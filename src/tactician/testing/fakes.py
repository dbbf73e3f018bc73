"""Fake context for tests of actions without a platform."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.llm.model_sources import as_model_source
from tactician.process import AgentProcess, Blackboard, OperationContext
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import RunContext, Services
from tactician.suggestions import suggest_options
from tactician.testing.scripted import ScriptedModel
from tactician.tools import ToolGroup
from tactician.tools.group_registry import ToolGroups


@suggest_options
class FakeContext(OperationContext):
    """`OperationContext` for calling an action directly: over a scripted model, with objects on the blackboard.

    Args:
        model: the model; a model without steps by default.
        *objects: the objects.
        tool_groups: the tool groups of the platform. The models of the action may use all of them.
    """

    __slots__ = ()

    def __init__(
        self, model: ScriptedModel | None = None, *objects: object, tool_groups: Iterable[ToolGroup] = ()
    ) -> None:
        groups = ToolGroups(tool_groups)
        services = Services(as_model_source(model or ScriptedModel()))
        run = RunContext.outermost(services.with_service(groups))
        spec = PlannedAgentSpec("fake", "a fake agent", (), (), {})
        names = tuple(group.name for group in groups.registered)
        super().__init__(AgentProcess(spec, Blackboard(*objects), run), run, tool_groups=names)
