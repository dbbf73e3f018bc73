"""Agents that callers name, and the inputs that callers give them."""

from __future__ import annotations

import json

from pydantic import JsonValue, TypeAdapter, ValidationError

from tactician.agents import planned_spec
from tactician.llm import UserMessage
from tactician.runs import Runnable
from tactician.serve.api.operations import Call
from tactician.serve.api.views import find_schemas, list_input_types
from tactician.serve.problems import ApiError


def find_runnable(call: Call) -> Runnable:
    """Return the agent that a path names by its id, or by its name.

    Raises:
        ApiError: when there is none.
    """
    agent_id = call.find_id("agent_id")
    platform = call.server.platform
    agent = platform.agents_by_id.get(agent_id) or platform.agents.get(agent_id)
    if agent is None:
        raise ApiError(404, f"There is no agent {agent_id!r}. See /api/agents.")
    return agent


def reads_messages(agent: Runnable) -> bool:
    """Return whether an agent takes a message of a user, and not only the objects that it declares."""
    return planned_spec(agent) is None or UserMessage in list_input_types(agent)


def read_agent_input(agent: Runnable, value: JsonValue, type_name: str | None) -> object:
    """Return an input as the agent takes it: text and JSON as they are, or an object of a type that it declares.

    Raises:
        ApiError: when it has the form of no type.
    """
    kinds = [kind for kind, _ in find_schemas(list_input_types(agent)) if type_name in (None, kind.__name__)]
    if type_name is not None and not kinds:
        raise ApiError(422, f"type: {agent.name} takes no {type_name!r}.")
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
