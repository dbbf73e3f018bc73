"""What a process is between two of its steps, and as those see it that watch it."""
