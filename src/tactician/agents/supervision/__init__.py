"""Supervision: a model that chooses the actions of a planned agent, instead of a planner."""
