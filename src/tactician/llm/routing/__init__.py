"""Routing of model calls over keys and deployments: policies, limits, retries, circuit breakers and fallbacks."""
