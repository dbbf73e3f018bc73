"""Operations on agents."""

from __future__ import annotations

from typing import Final

from tactician.agents import BaseRunnable
from tactician.serve.api.forms import AgentForm, AgentsForm, DiagramForm
from tactician.serve.api.operations import ApiOperation, Call
from tactician.serve.api.views import show_agent, show_diagram
from tactician.serve.api.visibility import READERS
from tactician.serve.problems import ApiError


async def list_agents(call: Call) -> AgentsForm:
    """Return the agents that can be started."""
    agents = call.server.platform.agents_by_id
    return AgentsForm(agents=tuple(show_agent(agent_id, agent) for agent_id, agent in agents.items()))


async def find_agent(call: Call) -> AgentForm:
    """Return an agent with the forms of its inputs."""
    agent_id = call.find_id("agent_id")
    if (agent := call.server.platform.agents_by_id.get(agent_id)) is None:
        raise ApiError(404, f"There is no agent {agent_id!r}. See /api/agents.")
    return show_agent(agent_id, agent)


async def draw_agent(call: Call) -> DiagramForm:
    """Return a drawing of an agent."""
    agent_id = call.find_id("agent_id")
    agent = call.server.platform.agents_by_id.get(agent_id)
    if not isinstance(agent, BaseRunnable):
        raise ApiError(404, f"There is no agent {agent_id!r} with a drawing. See /api/agents.")
    diagram = agent.diagram()
    return show_diagram(diagram)


AGENT_OPERATIONS: Final = (
    ApiOperation("GET", "/api/agents", list_agents, "List the agents", AgentsForm, READERS),
    ApiOperation("GET", "/api/agents/{agent_id}", find_agent, "Show an agent", AgentForm, READERS),
    ApiOperation("GET", "/api/agents/{agent_id}/diagram", draw_agent, "Draw an agent", DiagramForm, READERS),
)
