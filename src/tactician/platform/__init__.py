"""What is registered, how it is configured, and how a result type finds its agent."""

from tactician.errors import Ranked
from tactician.platform.autonomy import Autonomy
from tactician.platform.platform import Platform
from tactician.platform.supervision import SupervisorInvocation
from tactician.platform.worker import Worker

__all__ = ["Autonomy", "Platform", "Ranked", "SupervisorInvocation", "Worker"]
