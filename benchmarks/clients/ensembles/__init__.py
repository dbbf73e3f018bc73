"""Clients that get two tasks done, the second of which reads what the first gave."""
