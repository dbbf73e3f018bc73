"""What is registered, how it is configured, and how a result type finds its agent."""

from tactician.platform.platform import Platform
from tactician.platform.worker import Worker

__all__ = ["Platform", "Worker"]
