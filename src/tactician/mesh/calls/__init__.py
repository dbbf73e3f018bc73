"""Callers of a mesh: remote tasks and tools as Runnables and tools, tickets, and the ways to wait."""
