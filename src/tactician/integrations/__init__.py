"""Engines of others that run processes: one module for each. What they run is kept in our store, and only there."""
