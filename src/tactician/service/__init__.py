"""A platform by ids: agents from code and from files, and conversations."""

from tactician.service.service import AgentService

__all__ = ["AgentService"]
