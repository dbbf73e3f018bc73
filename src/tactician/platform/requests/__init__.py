"""Requests to agents and models, alone or in conversations: each is a run."""
