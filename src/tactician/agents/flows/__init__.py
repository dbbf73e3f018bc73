"""Ready-made flows: steps in a pattern. Each is a Runnable, and so can be a step of any other."""

from tactician.agents.flows.accepting import (
    DEFAULT_THRESHOLD,
    Feedback,
    RepeatUntilAcceptable,
    Scored,
    repeat_until_acceptable,
)
from tactician.agents.flows.agreement import consensus
from tactician.agents.flows.gathering import ScatterGather, scatter_gather
from tactician.agents.flows.repeating import DEFAULT_MAX_ITERATIONS, RepeatUntil, repeat_until
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
