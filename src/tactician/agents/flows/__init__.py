"""Ready-made flows. Each is a Runnable, and can be a step of another flow."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.agents.flows.repeat_until import Feedback as Feedback
    from tactician.agents.flows.repeat_until import Scored as Scored
    from tactician.agents.flows.repeat_until import repeat_until as repeat_until
    from tactician.agents.flows.repeat_until import repeat_until_acceptable as repeat_until_acceptable
    from tactician.agents.flows.scatter_gather import consensus as consensus
    from tactician.agents.flows.scatter_gather import scatter_gather as scatter_gather
    from tactician.agents.flows.simple import simple_agent as simple_agent
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.agents.flows.repeat_until": "Feedback Scored repeat_until repeat_until_acceptable",
            "tactician.agents.flows.scatter_gather": "consensus scatter_gather",
            "tactician.agents.flows.simple": "simple_agent",
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.agents.flows.repeat_until import repeat_until as repeat_until
    from tactician.agents.flows.scatter_gather import scatter_gather as scatter_gather
