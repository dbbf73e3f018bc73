"""Scheduler of steps with stable keys and dependencies, run as soon as possible, within limits."""
