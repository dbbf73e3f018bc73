"""Blueprints of ensembles: tasks with an order, and what may stand in the place of a task."""
