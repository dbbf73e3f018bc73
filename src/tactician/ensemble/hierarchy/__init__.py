"""Hierarchies: a manager delegates to workers, and answers for the ensemble."""
