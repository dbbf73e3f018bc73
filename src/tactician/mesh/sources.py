"""Sources of meshes: a mesh itself, or the address by which a run finds the mesh of its platform."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Final, Protocol

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.mesh.connection import MeshConnection
from tactician.runs import RunContext
from tactician.tools.provider import OpenProviders

MESH_VARIABLE: Final = "TACTICIAN_MESH"
KEY_VARIABLE: Final = "TACTICIAN_MESH_KEY"
_FIGURES: Final = {
    "queue_depth": "Requests that wait at a node.",
    "oldest_age": "Seconds for which the oldest of them has waited.",
    "running": "Requests that a node works on, without those that wait for people.",
    "expected_wait": "Seconds until a new request would end.",
}


class MeshSource(Protocol):
    """Source of a mesh for a run."""

    def resolve(self, context: RunContext) -> MeshConnection:
        """Return the mesh for a run."""
        ...


@frozen
class MeshAddress:
    """Address of a mesh, as a blueprint has it. It has no secret.

    Attributes:
        url: address of the broker; when `None`, the mesh of a node of the platform, or else the mesh that the variable
            `TACTICIAN_MESH` names.
        realm: realm of the caller.
        key_variable: name of the variable that has the keys, separated by commas.
    """

    url: str | None = None
    realm: str | None = None
    key_variable: str = KEY_VARIABLE

    def resolve(self, context: RunContext) -> MeshConnection:
        """Return the mesh at the address, which the platform of the run closes.

        Raises:
            ConfigurationError: when there is no address.
        """
        return context.services.find(OpenMeshes).find(self, context)

    def connect(self) -> MeshConnection:
        """Return a new connection.

        Raises:
            ConfigurationError: when there is no address, or it is not valid.
        """
        if not (url := self.url or os.environ.get(MESH_VARIABLE)):
            raise ConfigurationError(
                f"Say where the mesh is: set the variable {MESH_VARIABLE}, such as nats://host:4222, give the task a "
                "url, or start a Node on the platform."
            )
        return MeshConnection(url, realm=self.realm or "default", key=read_mesh_keys(self.key_variable))


def read_mesh_keys(variable: str = KEY_VARIABLE) -> list[str]:
    """Return the keys of a mesh that a variable has, separated by commas."""
    return [key.strip() for key in os.environ.get(variable, "").split(",") if key.strip()]


class MeasuredNode(Protocol):
    """Node of a platform, as its figures are shown."""

    name: str
    instance: str

    def measure(self) -> Mapping[str, object]:
        """Return the load of the instance now."""
        ...


class RunningNodes:
    """Nodes of a platform that run in this program.

    Attributes:
        nodes: the nodes.
    """

    def __init__(self) -> None:
        self.nodes: list[MeasuredNode] = []

    def write_figures(self) -> list[str]:
        """Return the load of the nodes in the text format of Prometheus, by which an autoscaler may go."""
        lines: list[str] = []
        for name, purpose in _FIGURES.items():
            values = [(node, value) for node in self.nodes if (value := node.measure()[name]) is not None]
            if values:
                lines += [f"# HELP tactician_mesh_{name} {purpose}", f"# TYPE tactician_mesh_{name} gauge"]
            for node, value in values:
                label = node.name.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'tactician_mesh_{name}{{node="{label}",instance="{node.instance}"}} {value:g}')
        return lines


class OpenMeshes:
    """Meshes of a platform: its nodes use them, or its runs have opened them, and the platform closes the latter."""

    def __init__(self) -> None:
        self._meshes: dict[MeshConnection, asyncio.AbstractEventLoop] = {}

    def add(self, mesh: MeshConnection) -> None:
        """Add the mesh of a node."""
        self._meshes[mesh] = asyncio.get_running_loop()

    def find(self, address: MeshAddress, context: RunContext) -> MeshConnection:
        """Return the mesh at an address; connect, unless a node or a run has done so in this event loop."""
        loop = asyncio.get_running_loop()
        for mesh, mesh_loop in self._meshes.items():
            if mesh_loop is loop and address.url in (None, mesh.url) and address.realm in (None, mesh.realm):
                return mesh
        mesh = address.connect()
        self.add(mesh)
        context.services.find(OpenProviders).add(mesh)
        return mesh
