"""A platform by ids: agents from code and from files, and conversations."""

from tactician.platform import Picture
from tactician.service.options import AgentOptions, ModelOptions
from tactician.service.service import AgentService

__all__ = ["AgentService", "AgentOptions", "ModelOptions", "Picture"]
