"""Ready-made flows. Each is a Runnable, and can be a step of another flow."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.agents.flows.repeat_until import DEFAULT_MAX_ITERATIONS as DEFAULT_MAX_ITERATIONS
    from tactician.agents.flows.repeat_until import DEFAULT_THRESHOLD as DEFAULT_THRESHOLD
    from tactician.agents.flows.repeat_until import Feedback as Feedback
    from tactician.agents.flows.repeat_until import RepeatUntil as RepeatUntil
    from tactician.agents.flows.repeat_until import RepeatUntilAcceptable as RepeatUntilAcceptable
    from tactician.agents.flows.repeat_until import Scored as Scored
    from tactician.agents.flows.repeat_until import repeat_until as repeat_until
    from tactician.agents.flows.repeat_until import repeat_until_acceptable as repeat_until_acceptable
    from tactician.agents.flows.scatter_gather import ScatterGather as ScatterGather
    from tactician.agents.flows.scatter_gather import consensus as consensus
    from tactician.agents.flows.scatter_gather import scatter_gather as scatter_gather
    from tactician.agents.flows.simple import SimpleAgent as SimpleAgent
    from tactician.agents.flows.simple import simple_agent as simple_agent
    from tactician.agents.flows.steps import StepLike as StepLike
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.agents.flows.repeat_until": (
                "DEFAULT_MAX_ITERATIONS DEFAULT_THRESHOLD Feedback RepeatUntil RepeatUntilAcceptable Scored "
                "repeat_until repeat_until_acceptable"
            ),
            "tactician.agents.flows.scatter_gather": "ScatterGather consensus scatter_gather",
            "tactician.agents.flows.simple": "SimpleAgent simple_agent",
            "tactician.agents.flows.steps": "StepLike",
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.agents.flows.repeat_until import repeat_until as repeat_until
    from tactician.agents.flows.scatter_gather import scatter_gather as scatter_gather
