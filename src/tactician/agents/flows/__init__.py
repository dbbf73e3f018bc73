"""Ready-made flows. Each is a Runnable, and can be a step of another flow."""

from tactician.agents.flows.repeat_until import (
    DEFAULT_MAX_ITERATIONS,
    DEFAULT_THRESHOLD,
    Feedback,
    RepeatUntil,
    RepeatUntilAcceptable,
    Scored,
    repeat_until,
    repeat_until_acceptable,
)
from tactician.agents.flows.scatter_gather import ScatterGather, consensus, scatter_gather
from tactician.agents.flows.simple import SimpleAgent, simple_agent
from tactician.agents.flows.steps import StepLike

__all__ = [
    "simple_agent",
    "scatter_gather",
    "consensus",
    "repeat_until",
    "repeat_until_acceptable",
    "SimpleAgent",
    "ScatterGather",
    "RepeatUntil",
    "RepeatUntilAcceptable",
    "Feedback",
    "Scored",
    "StepLike",
    "DEFAULT_MAX_ITERATIONS",
    "DEFAULT_THRESHOLD",
]
