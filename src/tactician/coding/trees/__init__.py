"""Syntax trees: mistakes, definitions and uses, and the map of a repository."""
