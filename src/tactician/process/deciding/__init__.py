"""Decisions of a process: it observes, plans, and selects the actions that start."""
