"""The context of a run: what the code inside has, and what it leaves on its way."""
