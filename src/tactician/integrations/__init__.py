"""Integrations with workflow engines, a module for each. The runs are in our store only."""
