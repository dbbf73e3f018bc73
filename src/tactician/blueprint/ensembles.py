"""Blueprint of an ensemble: `ensemble`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from tactician.agents import Agent, BaseRunnable
from tactician.blueprint.abilities import AgentToolPart, build_tools, find_type
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensemble_builder import EnsembleParts, add_problems, build_checked, find_function
from tactician.blueprint.ensemble_parts import ConstraintsPart, DelegationPart, PhasePart, TaskPart, WorkflowText
from tactician.blueprint.models import ModelParts, OptionsPart, ResponderPart, TracePart, list_fields, set_trace
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Count, Name, Number, Part, Positive, Temperature
from tactician.context_format import ContextFormat
from tactician.ensemble import Delegation, Ensemble, HierarchicalConstraints, ReviewPolicy, Workflow
from tactician.runs import Budget


class BudgetPart(Part):
    """Limits of each run."""

    cost: Number | None = None
    tokens: Count | None = None
    turns: Count | None = None
    seconds: Number | None = None
    actions: Count | None = None


@blueprint_type("ensemble")
class EnsembleBlueprint(Blueprint):
    """Blueprint of an ensemble: tasks with an order, or phases of tasks."""

    type: Literal["ensemble"] = "ensemble"
    name: Name
    description: str | None = None
    model: Name | None = None
    responder: ResponderPart | None = None
    temperature: Temperature | None = None
    options: OptionsPart | None = None
    tool_class_names: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    agents: Annotated[tuple[Node, ...], Field(min_length=1)] | None = None
    tasks: Annotated[tuple[TaskPart, ...], Field(min_length=1)] | None = None
    phases: Annotated[tuple[PhasePart, ...], Field(min_length=1)] | None = None
    workflow: WorkflowText | None = None
    manager: Node | None = None
    constraints: ConstraintsPart | None = None
    on_error: Annotated[Literal["fail_fast", "continue"], DEFERRED_IN_TEXT] | None = None
    max_parallel: Positive | None = None
    delegation: DelegationPart | None = None
    review_policy: Annotated[Literal["never", "after_every_task", "after_last_task"], DEFERRED_IN_TEXT] | None = None
    reviewer: Name | None = None
    context_format: Annotated[Literal["json", "toon"], DEFERRED_IN_TEXT] | None = None
    capture: Annotated[Literal["off", "standard", "full"], DEFERRED_IN_TEXT] | None = None
    budget: BudgetPart | None = None
    trace_metadata: TracePart | None = None

    def build_with(self, builder: Builder) -> Ensemble | None:
        """Return the ensemble. Mistakes between its tasks are found too."""
        agents = None if self.agents is None else builder.build_nodes(self.agents, "agents")
        parts = EnsembleParts(builder, agents or ())
        parts.add(self.tasks or (), builder)
        for place, phase in enumerate(self.phases or ()):
            parts.add(phase.tasks, builder.at("phases", place))
        settings: dict[str, Any] = {
            "tasks": parts.build_tasks(self.tasks or ()),
            "phases": parts.build_phases(self.phases or ()),
            "agents": agents,
            "manager": self._build_manager(builder),
            **self._build_settings(builder),
        }

        def create() -> Ensemble | None:
            ensemble = build_checked(lambda: Ensemble(self.name, **settings), builder)
            if ensemble is not None:
                add_problems(ensemble.structure_problems, builder)
                set_trace(ensemble, self.trace_metadata)
            return ensemble

        return builder.attempt(create)

    def _build_settings(self, builder: Builder) -> dict[str, Any]:
        model = ModelParts(self.model or "default", self.responder, self.temperature, self.options)
        plain: dict[str, Any] = {
            "description": self.description,
            "on_error": self.on_error,
            "max_parallel": self.max_parallel,
            "capture": self.capture,
            "context_format": None if self.context_format is None else ContextFormat(self.context_format),
            "review_policy": None if self.review_policy is None else ReviewPolicy(self.review_policy),
            "reviewer": find_function(self.reviewer, builder, "reviewer"),
            "workflow": None if self.workflow is None else Workflow(self.workflow),
            "constraints": None
            if self.constraints is None
            else HierarchicalConstraints(**list_fields(self.constraints)),
            "budget": None
            if (part := self.budget) is None
            else builder.attempt(lambda: Budget(**list_fields(part)), "budget"),
        }
        if self.delegation is not None:
            plain["delegation"] = _build_delegation(self.delegation, builder.at("delegation"))
        return {
            "model": model.build(builder),
            "tools": build_tools(self.tool_class_names or (), self.agent_tools or (), builder),
            **{name: value for name, value in plain.items() if value is not None},
        }

    def _build_manager(self, builder: Builder) -> BaseRunnable[object] | None:
        manager = None if self.manager is None else builder.build_node(self.manager, "manager")
        if manager is None or isinstance(manager, Agent):
            return manager
        builder.add_problem("it has to be an agent", "manager")
        return None


def _build_delegation(part: DelegationPart, builder: Builder) -> Delegation | None:
    named = (find_function(name, builder, "policies") for name in part.policies or ())
    policies = tuple(policy for policy in named if policy is not None)
    kinds = (find_type(name, builder, "outputTypes") for name in part.output_types or ())
    types = tuple(kind for kind in kinds if kind is not None)
    depth: dict[str, Any] = {} if part.max_depth is None else {"max_depth": part.max_depth}
    return builder.attempt(lambda: Delegation(policies=policies, output_types=types, **depth))
