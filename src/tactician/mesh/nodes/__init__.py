"""Nodes of a mesh: what they offer, how they accept requests, and how they reply."""
