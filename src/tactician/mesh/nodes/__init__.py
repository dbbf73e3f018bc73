"""Nodes of a mesh: what they offer, how they accept requests, and how they reply."""

from tactician.mesh.nodes.node import Node, NodeState
from tactician.mesh.nodes.offer import Offer

__all__ = ["Node", "NodeState", "Offer"]
