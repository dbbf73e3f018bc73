"""Planned agents: classes with declared methods, compiled into what a process runs."""
