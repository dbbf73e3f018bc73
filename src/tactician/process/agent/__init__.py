"""The planned agent that a process runs, and what its actions get."""
