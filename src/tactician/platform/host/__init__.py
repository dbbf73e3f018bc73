"""Presence of a platform in a program: it continues runs of the store, and keeps the latest events of all runs."""
