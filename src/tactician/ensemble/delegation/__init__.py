"""Delegation: agents ask others, of the same ensemble, to do tasks for them."""
