"""Server of A2A: tasks of other programs are durable runs of what a platform publishes."""
