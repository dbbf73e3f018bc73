"""Constellations: several Runnables that act as a single Runnable. Any Runnable fits in any place."""
