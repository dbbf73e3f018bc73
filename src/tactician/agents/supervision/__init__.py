"""Supervision: a model that chooses the actions of a planned agent, instead of a planner."""

from tactician.agents.supervision.supervised_agent import DEFAULT_SUPERVISOR_ROUNDS, LEADER, supervise

__all__ = ["supervise", "DEFAULT_SUPERVISOR_ROUNDS", "LEADER"]
