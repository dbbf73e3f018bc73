"""Server of A2A: tasks of other programs are durable runs of what a platform publishes."""

from tactician.serve.a2a.app import a2a_app
from tactician.serve.a2a.settings import A2aSettings, GrpcSettings

__all__ = ["a2a_app", "A2aSettings", "GrpcSettings"]
