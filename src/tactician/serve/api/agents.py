"""Agents that callers name: the operations on them, and the inputs that callers give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError

from tactician.agents import Agent, AgentNetwork, BaseRunnable, HierarchicalAgents, ParallelAgents, RouterAgent
from tactician.agents.planned.specs import planned_spec
from tactician.chat import Chatbot
from tactician.llm import UserMessage
from tactician.runs import Runnable
from tactician.serve.api.forms.forms import AgentForm, AgentsForm, DiagramForm
from tactician.serve.api.forms.views import find_schemas, find_values_type, list_input_types, show_agent, show_diagram
from tactician.serve.api.forms.visibility import READERS
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.problems import ApiError

_READERS: Final = (Agent, RouterAgent, ParallelAgents, AgentNetwork, HierarchicalAgents, Chatbot)
"""Agents that do nothing without a message."""


def find_runnable(call: Call) -> Runnable:
    """Return the agent that a path names by its id, or by its name.

    Raises:
        ApiError: when the agent does not exist.
    """
    agent_id = call.find_id("agent_id")
    platform = call.server.platform
    agent = platform.agents_by_id.get(agent_id) or platform.agents.get(agent_id)
    if agent is None:
        raise ApiError(404, f"There is no agent {agent_id!r}. See /api/agents.")
    return agent


def find_run_names(call: Call, agents: Iterable[str]) -> tuple[str, ...]:
    """Return the names that runs of agents have, each of which a query names by its id or its name."""
    by_id = call.server.platform.agents_by_id
    return tuple(dict.fromkeys(name for agent in agents for name in _list_names(by_id.get(agent), agent)))


def _list_names(agent: Runnable | None, asked: str) -> tuple[str, ...]:
    """Return the names of an agent's runs: a chatbot's runs have the name of who answers."""
    if agent is None:
        return (asked,)
    return (agent.name, agent.agent_name) if isinstance(agent, Chatbot) else (agent.name,)


def reads_messages(agent: Runnable) -> bool:
    """Return whether an agent takes a message of a user, and not only the objects that it declares."""
    return planned_spec(agent) is None or UserMessage in list_input_types(agent)


def needs_input(agent: Runnable) -> bool:
    """Return whether an agent does nothing without a message."""
    return isinstance(agent, _READERS)


def read_agent_input(agent: Runnable, value: JsonValue, type_name: str | None) -> object:
    """Return an input as the agent takes it: text and JSON as they are, or an object of a type that it declares.

    Raises:
        ApiError: when it has the form of no type.
    """
    kinds = [kind for kind, _ in find_schemas(list_input_types(agent)) if type_name in (None, kind.__name__)]
    if type_name is not None and not kinds:
        raise ApiError(422, f"type: {agent.name} takes no {type_name!r}.")
    if value is None and needs_input(agent):
        raise ApiError(422, f"input: It is missing. Say what {agent.name} is to do.")
    if (values := find_values_type(agent)) is not None:
        return _check_names(agent, value, values)
    if (isinstance(value, str) and type_name is None) or not kinds:
        return value
    problems: list[str] = []
    for kind in kinds:
        try:
            read: object = TypeAdapter(kind).validate_json(json.dumps(value))
            return read
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            problems.append(f"{'.'.join([kind.__name__, *map(str, first['loc'])])}: {first['msg']}")
    raise ApiError(422, f"input: {'; '.join(problems)}")


def _describe_values(names: Sequence[str]) -> str:
    """Return values that are missing in words, such as `values for 'topic' and 'audience'`."""
    *others, last = map(repr, names)
    return f"values for {', '.join(others)} and {last}" if others else f"a value for {last}"


def _check_names(agent: Runnable, value: JsonValue, values: type) -> JsonValue:
    """Return an input that has all the names of the agent's values. Values of any type become text.

    Raises:
        ApiError: when a name is missing.
    """
    given = value.keys() if isinstance(value, dict) else ()
    if missing := [name for name in get_type_hints(values) if name not in given]:
        hint = f"write an object, such as {json.dumps(dict.fromkeys(get_type_hints(values), '...'))}"
        raise ApiError(422, f"input: {agent.name} needs {_describe_values(missing)}: {hint}.")
    return value


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
