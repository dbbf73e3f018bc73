"""Engines of others that make the steps of runs, one module for each. The runs are kept in our store only."""
