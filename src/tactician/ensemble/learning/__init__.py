"""Learning across runs: reflections on tasks, and memories in scopes."""
