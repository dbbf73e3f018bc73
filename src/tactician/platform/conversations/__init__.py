"""Conversations of a platform: requests to agents and models, alone or in one, and processes that take part in one."""
