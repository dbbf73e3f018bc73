"""One small script per client, each run as `python -m benchmarks.clients.<name>` in an environment of its own."""
