"""What callers get: forms of runs, agents and requests, for the person who looks."""
