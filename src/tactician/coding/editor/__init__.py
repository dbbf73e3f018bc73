"""Coding agents inside editors, by the Agent Client Protocol."""
