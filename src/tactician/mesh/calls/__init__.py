"""Callers of a mesh: remote tasks and tools as Runnables and tools, tickets, and the ways to wait."""

from tactician.mesh.calls.remote_task import MeshCallOptions, RemoteTaskRunnable
from tactician.mesh.calls.remote_tools import RemoteTools
from tactician.mesh.calls.requester import Requester
from tactician.mesh.calls.ticket import Ticket

__all__ = ["MeshCallOptions", "RemoteTaskRunnable", "RemoteTools", "Requester", "Ticket"]
