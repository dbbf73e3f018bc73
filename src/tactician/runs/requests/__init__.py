"""Requests of runs to people and programs, and their answers."""
