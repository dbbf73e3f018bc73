"""Agents by id, from code and from files, and conversations by id."""

from tactician.service.pictures import Picture
from tactician.service.requests import AgentOptions, ModelOptions
from tactician.service.service import AgentService

__all__ = ["AgentService", "AgentOptions", "ModelOptions", "Picture"]
