"""Constellations: several Runnables that act as a single Runnable. Any Runnable fits in any place."""

from tactician.agents.constellations.events import RouteChosen
from tactician.agents.constellations.hierarchy import Department, HierarchicalAgents
from tactician.agents.constellations.network import AgentNetwork, Broadcast
from tactician.agents.constellations.parallel import FirstOf, ParallelAgents, Synthesis
from tactician.agents.constellations.router import RouterAgent
from tactician.agents.constellations.supervisor import SupervisorAgent

__all__ = [
    "RouterAgent",
    "RouteChosen",
    "SupervisorAgent",
    "ParallelAgents",
    "FirstOf",
    "Synthesis",
    "AgentNetwork",
    "Broadcast",
    "HierarchicalAgents",
    "Department",
]
