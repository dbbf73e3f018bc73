"""Blueprints of hierarchies: `hierarchical`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tactician.agents import Agent, BaseRunnable, Department, HierarchicalAgents
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.models import trace_part, traced
from tactician.blueprint.parts import Name, Part, Positive
from tactician.blueprint.settings import TracePart
from tactician.blueprint.snapshot import Snapshot
from tactician.runs import Runnable


class DepartmentPart(Part):
    """A manager, and those who work for them."""

    manager: Node
    workers: Annotated[tuple[Node, ...], Field(min_length=1)]


@blueprint_type("hierarchical", HierarchicalAgents)
class HierarchicalBlueprint(Blueprint):
    """An executive over departments."""

    type: Literal["hierarchical"] = "hierarchical"
    executive: Node
    departments: Annotated[dict[str, DepartmentPart], Field(min_length=1)]
    max_turns: Positive
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    name: Name | None = None
    description: str | None = None

    def assembled(self, builder: Builder) -> HierarchicalAgents[object] | None:
        """The hierarchy."""
        executive = _agent(builder.node(self.executive, "executive"), builder, "executive")
        departments: dict[str, Department] = {}
        for label, part in self.departments.items():
            here = builder.at("departments", label)
            manager = _agent(here.node(part.manager, "manager"), here, "manager")
            workers = here.nodes_of(part.workers, "workers")
            if manager is not None:
                departments[label] = Department(manager, workers)

        def made() -> HierarchicalAgents[object]:
            assert executive is not None
            hierarchy: HierarchicalAgents[object] = HierarchicalAgents(
                executive=executive,
                departments=departments,
                max_turns=self.max_turns,
                name=self.name,
                description=self.description,
            )
            return traced(hierarchy, self.trace_metadata)

        return builder.tried(made)

    @property
    def label(self) -> str:
        """How it is called."""
        return self.name or f"{self.executive.label}_Hierarchy"

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> HierarchicalBlueprint | None:
        """The blueprint of a hierarchy."""
        assert isinstance(runnable, HierarchicalAgents)
        executive = runnable.executive
        departments = {
            label: part
            for label, one in runnable.departments.items()
            if (part := _department_part(one, snapshot.at("departments", label))) is not None
        }
        said = {
            "executive": snapshot.node(executive, "executive"),
            "departments": departments,
            "max_turns": runnable.max_turns,
            "trace_metadata": trace_part(runnable.trace),
            "name": runnable.name if runnable.name != f"{executive.name}_Hierarchy" else None,
            "description": runnable.description if runnable.description != executive.description else None,
        }
        return snapshot.made(cls, said)


def _agent(made: BaseRunnable[object] | None, builder: Builder, step: str) -> Agent[object] | None:
    """What was made, if it is an agent: nobody else can lead."""
    if made is None or isinstance(made, Agent):
        return made
    builder.problem("it has to be an agent", step)
    return None


def _department_part(department: Department, snapshot: Snapshot) -> DepartmentPart | None:
    manager = snapshot.node(department.manager, "manager")
    workers = snapshot.nodes_of(department.workers, "workers")
    return snapshot.made(DepartmentPart, {"manager": manager, "workers": workers})
