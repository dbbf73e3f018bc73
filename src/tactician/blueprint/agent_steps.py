"""Agents as steps of pipelines of tools, in blueprints."""

from __future__ import annotations

from typing import Any, Literal

from tactician.blueprint.blueprint import Node
from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools.parts import STEP_KINDS
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import Part, ToolName
from tactician.tools import RunnableTool, Tool


class AgentStepPart(Part):
    """Agent or constellation as a step of a pipeline: its input is the output of the step before."""

    tool: Literal["run_agent"]
    target: Node
    name: ToolName | None = None
    description: str | None = None


STEP_KINDS["run_agent"] = AgentStepPart


def build_agent_step(part: AgentStepPart, here: Builder) -> Tool | None:
    """Return the agent as a tool; `None` when there was a problem."""
    target = here.build_node(part.target, "target")
    return None if target is None else RunnableTool(target, part.name, part.description)


def export_agent_step(tool: RunnableTool[Any], here: Exporter) -> AgentStepPart | None:
    """Return the part of an agent as a tool; `None` when there was a problem."""
    if tool.arguments is not None or tool.prompt is not None or tool.parameters:
        here.add_problem(f"the tool {tool.name!r}: an agent with arguments of its own is no step of a blueprint")
        return None
    if (target := here.export_node(tool.runnable, "target")) is None:
        return None
    usual = RunnableTool(tool.runnable)
    fields = {
        "tool": "run_agent",
        "target": target,
        "name": tool.name if tool.name != usual.name else None,
        "description": tool.description if tool.description != usual.description else None,
    }
    return here.make(AgentStepPart, fields)
