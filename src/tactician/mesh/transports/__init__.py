"""Transports of a mesh, which a URL chooses."""
