"""The life of durable runs: creation, execution, ends, restoration and forks."""
