"""Integrations with workflow engines, one module for each. The runs are in our store only."""
