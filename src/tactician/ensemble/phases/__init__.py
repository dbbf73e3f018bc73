"""Phases: groups of tasks with an order of their own, and reviews that decide whether their outputs are good enough."""
