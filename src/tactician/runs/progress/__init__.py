"""Progress of runs as it is stored: checkpoints, records and logs of steps."""
