"""Nodes that offer their work to others, and callers that ask for it."""
