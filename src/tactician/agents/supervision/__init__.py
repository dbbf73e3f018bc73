"""A model that leads the actions of a planned agent, instead of a planner."""

from tactician.agents.supervision.supervised import DEFAULT_MAX_ROUNDS, LEADER, supervised

__all__ = ["supervised", "DEFAULT_MAX_ROUNDS", "LEADER"]
