"""Blueprint of an ensemble: `ensemble`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from tactician.agents import Agent
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.agent_directory import AgentDirectory
from tactician.blueprint.ensembles.context_formats import FormatName, ToonPart, build_context_format
from tactician.blueprint.ensembles.functions import find_callable
from tactician.blueprint.ensembles.learning import MemoryItem, ReflectionsItem, build_memory, build_reflections
from tactician.blueprint.ensembles.mistakes import add_problems, build_checked
from tactician.blueprint.ensembles.model_fields import ModelFieldsPart, ToolFieldsPart
from tactician.blueprint.ensembles.phase_parts import PersonPart, PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.synthesis import SynthesisItem, build_synthesis
from tactician.blueprint.ensembles.task_builder import TaskScope
from tactician.blueprint.ensembles.task_parts import GROUP_KINDS, TASK_KINDS, TaskItem
from tactician.blueprint.ensembles.team_settings import (
    BudgetPart,
    ConstraintsPart,
    DelegationPart,
    build_budget,
    build_constraints,
    build_delegation,
)
from tactician.blueprint.functions import find_function
from tactician.blueprint.models import TracePart, list_fields, set_trace
from tactician.blueprint.references import BlueprintRef
from tactician.blueprint.rules import RulePart, build_rules
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Name, Part, Positive, Rate
from tactician.documents.data import DataPath
from tactician.ensemble import Ensemble, Phase, PhaseReview, ReviewPolicy, Task, Workflow
from tactician.suggestions import did_you_mean


def build_phases(parts: Sequence[PhasePart], scope: TaskScope, agents: AgentDirectory, builder: Builder) -> list[Phase]:
    """Return phases, without those that have problems.

    Args:
        parts: the phases.
        scope: the tasks of the ensemble, to which the tasks of the phases have been added.
        agents: the agents of the ensemble.
        builder: the builder of the ensemble.
    """
    phases: dict[str, Phase] = {}
    for place, part in enumerate(parts):
        part_builder = builder.at("phases", place)
        after = list(_find_phases(part, phases, [phase.name for phase in parts], part_builder))
        tasks = list(scope.build_added(part.inner_tasks).values())
        review = None if part.review is None else _build_review(part.review, scope, agents, part_builder.at("review"))
        if part.name in phases:
            part_builder.add_problem(f"several phases have the name {part.name!r}: give each a name of its own", "name")
        elif len(tasks) == len(part.tasks):
            make = partial(Phase, part.name, tasks, after=after, workflow=part.workflow, review=review)
            if (phase := build_checked(make, part, part_builder)) is not None:
                phases[part.name] = phase
    return list(phases.values())


def _find_phases(
    part: PhasePart, phases: Mapping[str, Phase], phase_names: Sequence[str], builder: Builder
) -> Iterator[Phase]:
    earlier = phase_names[: phase_names.index(part.name)]
    for place, name in enumerate(part.after or ()):
        if name in phases:
            yield phases[name]
        elif name in phase_names and name not in earlier:  # an earlier one has problems of its own
            builder.add_problem(f"the phase {name!r} has to be written before this one", "after", place)
        elif name not in phase_names:
            builder.add_problem(
                f"there is no phase with the name {name!r}.{did_you_mean(name, phase_names)}", "after", place
            )


def _build_review(
    part: PhaseReviewPart, scope: TaskScope, agents: AgentDirectory, builder: Builder
) -> PhaseReview | None:
    numbers = {"max_retries": part.max_retries, "max_predecessor_retries": part.max_predecessor_retries}
    limits: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    if (person := part.person) is not None:
        return build_checked(lambda: _build_person(person, limits), part, builder)
    if part.task is not None:
        agents.add_from(part.task, builder.at("task"))
        task = scope.build(part.task, builder.at("task"))
        return None if task is None else build_checked(lambda: PhaseReview(task, **limits), part, builder)
    function = find_function(part.function, builder, "function")
    return None if function is None else build_checked(lambda: PhaseReview(function, **limits), part, builder)


def _build_person(part: PersonPart, limits: Mapping[str, Any]) -> PhaseReview:
    return PhaseReview.by_person(**list_fields(part), **limits)


@blueprint_type("ensemble")
class EnsembleBlueprint(Blueprint, ModelFieldsPart, ToolFieldsPart):
    """Blueprint of an ensemble: tasks with an order, or phases of tasks."""

    order = ("type", "name", "description", *ModelFieldsPart.model_fields, *ToolFieldsPart.model_fields)
    type: Literal["ensemble"] = "ensemble"
    name: Name
    description: str | None = None
    agents: Annotated[tuple[Node, ...], Field(min_length=1)] | None = None
    tasks: Annotated[tuple[TaskItem, ...], Field(min_length=1)] | None = None
    phases: Annotated[tuple[PhasePart, ...], Field(min_length=1)] | None = None
    workflow: Annotated[Workflow, DEFERRED_IN_TEXT] | None = None
    manager: Node | None = None
    constraints: ConstraintsPart | None = None
    memory: MemoryItem | None = None
    reflections: ReflectionsItem | None = None
    on_error: Annotated[Literal["fail_fast", "continue"], DEFERRED_IN_TEXT] | None = None
    max_parallel: Positive | None = None
    rate_limit: Rate | None = None
    delegation: DelegationPart | None = None
    review_policy: Annotated[Literal["never", "after_every_task", "after_last_task"], DEFERRED_IN_TEXT] | None = None
    reviewer: Name | None = None
    listeners: tuple[Name, ...] | None = None
    synthesize: SynthesisItem | None = None
    context_format: FormatName | None = None
    toon_options: ToonPart | None = None
    context_formatter: Name | None = None
    capture: Annotated[Literal["off", "standard", "full"], DEFERRED_IN_TEXT] | None = None
    budget: BudgetPart | None = None
    rules: tuple[RulePart, ...] | None = None
    trace_metadata: TracePart | None = None

    def build_with(self, builder: Builder) -> Ensemble | None:
        """Return the ensemble. Mistakes between its tasks are added to the builder."""
        settings = {**self._build_team(builder), **self._build_model(builder), **self._build_settings(builder)}
        settings |= self._build_objects(builder)
        arguments: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}

        def create() -> Ensemble | None:
            ensemble = build_checked(lambda: Ensemble(self.name, **arguments), self, builder)
            if ensemble is not None:
                add_problems(ensemble.structure_problems, self, builder)
                set_trace(ensemble, self.trace_metadata)
            return ensemble

        return builder.attempt(create)

    def _build_team(self, builder: Builder) -> dict[str, object]:
        agents = None if self.agents is None else builder.build_nodes(self.agents, "agents")
        tasks, phases = self._build_tasks(AgentDirectory(agents or ()), builder)
        manager = None if self.manager is None else builder.build_node(self.manager, "manager")
        if manager is not None and not isinstance(manager, Agent):
            builder.add_problem("it must be an agent", "manager")
        return {"tasks": tasks, "phases": phases, "agents": agents, "manager": manager}

    def _build_tasks(self, agents: AgentDirectory, builder: Builder) -> tuple[list[Task], list[Phase]]:
        scope, parts = TaskScope(agents), dict(self._list_tasks())
        for path, part in parts.items():
            agents.add_from(part, builder.at(*path))
        scope.add(parts, builder)
        tasks = scope.build_added({path: part for path, part in parts.items() if path[0] == "tasks"})
        return list(tasks.values()), build_phases(self.phases or (), scope, agents, builder)

    def _list_tasks(self) -> Iterator[tuple[DataPath, Part]]:
        for place, part in enumerate(self.tasks or ()):
            yield ("tasks", place), part
        for place, phase in enumerate(self.phases or ()):
            yield from ((("phases", place, *path), part) for path, part in phase.inner_tasks.items())

    def _build_model(self, builder: Builder) -> dict[str, object]:
        return {
            "model": self.build_model(builder),
            "tools": self.build_tools(builder),
            "synthesize": build_synthesis(self.synthesize, builder),
        }

    def _build_settings(self, builder: Builder) -> dict[str, object]:
        return {
            "description": self.description,
            "on_error": self.on_error,
            "max_parallel": self.max_parallel,
            "rate_limit": self.rate_limit,
            "capture": self.capture,
            "review_policy": None if self.review_policy is None else ReviewPolicy(self.review_policy),
            "workflow": self.workflow,
            "constraints": build_constraints(self.constraints),
            "budget": build_budget(self.budget, builder),
            "delegation": None if self.delegation is None else build_delegation(self.delegation, builder),
            "rules": build_rules(self.rules, builder),
            "memory": build_memory(self.memory, builder),
            "reflections": build_reflections(self.reflections, builder),
        }

    def _build_objects(self, builder: Builder) -> dict[str, object]:
        listeners = [
            find_callable(name, "a function of an event", builder, "listeners", place)
            for place, name in enumerate(self.listeners or ())
        ]
        return {
            "reviewer": find_callable(self.reviewer, "a function of a pending request", builder, "reviewer"),
            "listeners": listeners,
            "context_format": build_context_format(
                self.context_format, self.toon_options, self.context_formatter, builder
            ),
        }


_INSTEAD: dict[str, type[Part]] = {"ensemble": EnsembleBlueprint, "$ref": BlueprintRef}
TASK_KINDS.update(_INSTEAD)
GROUP_KINDS.update(_INSTEAD)
