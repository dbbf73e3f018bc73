"""Exporter of ensembles to blueprints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Final

from tactician.blueprint.abilities import export_guardrails, export_tools
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.ensemble_parts import (
    ConstraintsPart,
    DelegationPart,
    PersonPart,
    PhasePart,
    PhaseReviewPart,
    ReviewPart,
    TaskPart,
)
from tactician.blueprint.ensembles import BudgetPart, EnsembleBlueprint
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.models import DEFAULT, ModelParts, export_trace
from tactician.context_format import ContextFormat
from tactician.ensemble import (
    Delegation,
    Ensemble,
    HierarchicalConstraints,
    PersonReview,
    Phase,
    PhaseReview,
    Review,
    ReviewPolicy,
    Task,
    TaskLike,
)
from tactician.llm import ModelLike
from tactician.tools import Toolbox

_PLAIN: Final = (
    *("role", "goal", "background", "expected_output", "max_output_retries", "max_tool_calls"),
    "max_tool_output_chars",
)
_EXPRESSED: Final = frozenset(
    {
        *(*_PLAIN, "_", "id", "description", "agent", "context", "output_type", "tools", "model", "handler", "when"),
        *("input_guardrails", "output_guardrails", "review"),
    }
)
_SETTINGS: Final = frozenset(
    {
        *("self", "name", "tasks", "phases", "description", "agents", "model", "tools", "workflow", "manager"),
        *("constraints", "on_error", "max_parallel", "budget", "delegation", "review_policy", "reviewer", "capture"),
    }
)


@blueprint_exporter(Ensemble)
def export_ensemble(ensemble: Ensemble, exporter: Exporter) -> EnsembleBlueprint | None:
    """Return the blueprint of an ensemble."""
    agents, constraints, budget = ensemble.agents, ensemble.constraints, ensemble.budget
    tasks = _TaskExporter(agents or ())
    _refuse_settings(ensemble, exporter)
    values = {
        "name": ensemble.name,
        "description": ensemble.description if ensemble.description != ensemble.default_description else None,
        "agents": None if agents is None else exporter.export_nodes(agents, "agents"),  # type: ignore[arg-type]
        "tasks": None if ensemble.phases else tasks.export_all(ensemble.tasks, exporter),
        "phases": tuple(tasks.export_phases(ensemble.phases, exporter)) or None,
        "workflow": ensemble.given_workflow,
        "manager": None if ensemble.manager is None else exporter.export_node(ensemble.manager, "manager"),
        "constraints": None if constraints is None else _export_constraints(constraints),
        "on_error": ensemble.on_error if ensemble.on_error != "fail_fast" else None,
        "max_parallel": ensemble.max_parallel,
        "delegation": None if ensemble.delegation is None else _export_delegation(ensemble.delegation, exporter),
        "review_policy": ensemble.review_policy if ensemble.review_policy is not ReviewPolicy.NEVER else None,
        "reviewer": _export_function(ensemble.reviewer, exporter, "reviewer"),
        "context_format": ensemble.context_format if isinstance(ensemble.context_format, ContextFormat) else None,
        "capture": ensemble.capture,
        "budget": None if budget is None else exporter.make(BudgetPart, asdict(budget)),
        "trace_metadata": export_trace(ensemble.trace),
        **_export_model(ensemble.model, exporter),
        **_export_tools(ensemble.tools, exporter),
    }
    return exporter.make(EnsembleBlueprint, values)


@dataclass(slots=True)
class _TaskExporter:
    """Exporter of the tasks of one ensemble. An agent is written once, and named elsewhere."""

    written: list[object]

    def __init__(self, agents: Sequence[object]) -> None:
        self.written = list(agents)

    def export_all(self, tasks: Sequence[TaskLike], exporter: Exporter) -> tuple[TaskPart, ...]:
        """Return the parts of tasks."""
        parts = (self.export(task.as_task(), exporter.at("tasks", place)) for place, task in enumerate(tasks))
        return tuple(part for part in parts if part is not None)

    def export(self, task: Task, here: Exporter) -> TaskPart | None:
        """Return the part of a task."""
        for field in fields(task):
            default = None if field.default is MISSING else field.default
            if field.name not in _EXPRESSED and getattr(task, field.name) not in (default, None, (), [], {}):
                here.add_problem(f"the setting {field.name!r} of a task cannot be saved in a blueprint")
        plain = {name: value for name in _PLAIN if (value := getattr(task, name)) != getattr(Task, name)}
        values = {
            **plain,
            "id": task.id if task.id != task.description else None,
            "description": task.description,
            "agent": None if task.agent is None else self._export_agent(task.agent, here),
            "context": None if task.context is None else tuple(other.as_task().id for other in task.context),
            "handler": _export_function(task.handler, here, "handler"),
            "when": _export_function(task.when, here, "when"),
            "output_type": here.find_type_name(task.output_type, "outputType"),
            "input_guardrails": export_guardrails(task.guards.input.all, here, "inputGuardrails") or None,
            "output_guardrails": export_guardrails(task.guards.output, here, "outputGuardrails") or None,
            "reviews": _export_gates(task.review, here),
            **_export_model(task.model, here),
            **_export_tools(task.tools, here),
        }
        return here.make(TaskPart, values)

    def export_phases(self, phases: Sequence[Phase], exporter: Exporter) -> Iterator[PhasePart]:
        """Yield the parts of phases."""
        for place, phase in enumerate(phases):
            here = exporter.at("phases", place)
            values = {
                "name": phase.name,
                "tasks": self.export_all(phase.tasks, here),
                "after": tuple(other.name for other in phase.after) or None,
                "workflow": phase.workflow,
                "review": None if phase.review is None else self._export_review(phase.review, here.at("review")),
            }
            if (part := here.make(PhasePart, values)) is not None:
                yield part

    def _export_review(self, review: PhaseReview, here: Exporter) -> PhaseReviewPart | None:
        reviewer = review.reviewer
        default = PhaseReview.by_person()
        limits = {
            name: value
            for name in ("max_retries", "max_predecessor_retries")
            if (value := getattr(review, name)) != getattr(default, name)
        }
        if isinstance(reviewer, PersonReview):
            return here.make(PhaseReviewPart, {"person": _export_person(reviewer, here), **limits})
        if isinstance(reviewer, Task):
            task = self.export(reviewer, here.at("task"))
            return None if task is None else here.make(PhaseReviewPart, {"task": task, **limits})
        function = _export_function(reviewer, here, "function")
        return None if function is None else here.make(PhaseReviewPart, {"function": function, **limits})

    def _export_agent(self, agent: object, here: Exporter) -> Blueprint | str | None:
        """Return an agent, or its name when it was written before."""
        name = str(getattr(agent, "name", type(agent).__name__))
        if not any(agent is one for one in self.written):
            self.written.append(agent)
            return here.export_node(agent, "agent")  # type: ignore[arg-type]  # as_runnable takes any object
        if sum(getattr(one, "name", None) == name for one in self.written) > 1:
            here.add_problem(f"several agents have the name {name!r}, and tasks share one: give each its own", "agent")
        return name


def _refuse_settings(ensemble: Ensemble, exporter: Exporter) -> None:
    """Add a problem for each setting that a blueprint cannot express."""
    for name, parameter in inspect.signature(Ensemble).parameters.items():
        value: object = getattr(ensemble, name)
        if (
            name not in _SETTINGS
            and value not in (parameter.default, None, ())
            and not isinstance(value, ContextFormat)
        ):
            exporter.add_problem(f"the setting {name!r} of an ensemble cannot be saved in a blueprint")


def _export_model(model: ModelLike | None, exporter: Exporter) -> dict[str, Any]:
    parts = ModelParts.from_model(model, exporter)
    return {
        "model": parts.model if parts.model != DEFAULT or parts.responder is not None else None,
        "responder": parts.responder,
        "temperature": parts.temperature,
        "options": parts.options,
    }


def _export_tools(tools: Sequence[Any], exporter: Exporter) -> dict[str, Any]:
    names, agents = export_tools(Toolbox(tools), exporter)
    return {"tool_class_names": names or None, "agent_tools": agents or None}


def _export_function(function: Callable[..., object] | None, exporter: Exporter, field: str) -> str | None:
    if function is None:
        return None
    name = getattr(function, "__name__", type(function).__name__)
    return exporter.find_import_path(function, f"the function {name}", field)


def _export_gates(gates: Review | Sequence[Review] | None, here: Exporter) -> tuple[ReviewPart, ...] | None:
    listed = (gates,) if isinstance(gates, Review) else tuple(gates or ())
    return tuple(part for gate in listed if (part := here.make(ReviewPart, _list_gate(gate))) is not None) or None


def _list_gate(gate: Review) -> dict[str, object]:
    default = Review("after")
    given = {name: value for name, value in asdict(gate).items() if value != getattr(default, name)}
    timeout = {"timeout": float(gate.timeout or 0)} if "timeout" in given else {}
    return given | timeout | {"timing": gate.timing}


def _export_delegation(delegation: Delegation, exporter: Exporter) -> DelegationPart | None:
    here = exporter.at("delegation")
    policies = tuple(_export_function(policy, here, "policies") for policy in delegation.policies)
    values = {
        "max_depth": delegation.max_depth if delegation.max_depth != Delegation().max_depth else None,
        "policies": policies or None,
        "output_types": tuple(here.find_type_name(kind, "outputTypes") for kind in delegation.output_types) or None,
    }
    return here.make(DelegationPart, values)


def _export_person(person: PersonReview, exporter: Exporter) -> PersonPart | None:
    values = {
        "role": person.role,
        "prompt": person.prompt or None,
        "timeout": person.timeout or None,
        "on_timeout": person.on_timeout if person.on_timeout != "reject" else None,
    }
    return exporter.make(PersonPart, values)


def _export_constraints(constraints: HierarchicalConstraints) -> ConstraintsPart:
    return ConstraintsPart(
        required_workers=tuple(sorted(constraints.required_workers)) or None,
        allowed_workers=tuple(sorted(constraints.allowed_workers)) or None,
        max_calls_per_worker=dict(constraints.max_calls_per_worker) or None,
        max_delegations=constraints.max_delegations or None,
        stages=tuple(map(tuple, constraints.stages)) or None,
    )
