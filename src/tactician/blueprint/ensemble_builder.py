"""Builder of the tasks and phases of an ensemble from their parts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from pydantic.alias_generators import to_camel

from tactician.agents import BaseRunnable
from tactician.blueprint.abilities import build_guardrails, build_tools, find_type
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensemble_parts import PersonPart, PhasePart, PhaseReviewPart, ReviewPart, TaskPart
from tactician.blueprint.models import ModelParts, list_fields
from tactician.documents import did_you_mean
from tactician.ensemble import EnsembleDefinitionError, Phase, PhaseReview, Review, Task, Workflow
from tactician.errors import Problem
from tactician.names import NameProblem

T = TypeVar("T")
_STEP = re.compile(r"[^.\[\]]+")
_ALIASES = {"tools": "toolClassNames", "reviewer": "task", "review": "reviews"}
_PLAIN = (
    *("id", "description", "expected_output", "role", "goal", "background"),
    *("max_output_retries", "max_tool_calls", "max_tool_output_chars"),
)


class EnsembleParts:
    """Builder of the tasks and phases of one ensemble, which name each other and their agents.

    Args:
        builder: the builder of the ensemble.
        agents: the agents of the ensemble.
    """

    def __init__(self, builder: Builder, agents: Sequence[BaseRunnable[object]]) -> None:
        self._builder = builder
        self._parts: dict[str, tuple[TaskPart, Builder]] = {}
        self._tasks: dict[str, Task | None] = {}
        self._agents: dict[str, list[BaseRunnable[object]]] = {}
        self._nodes: dict[int, BaseRunnable[object] | None] = {}
        for agent in agents:
            self._agents.setdefault(agent.name, []).append(agent)

    def add(self, parts: Sequence[TaskPart], builder: Builder) -> None:
        """Add tasks, which all others may name.

        Args:
            parts: the tasks.
            builder: the builder of the part around them.
        """
        for place, part in enumerate(parts):
            here = builder.at("tasks", place)
            if part.key in self._parts:
                here.add_problem(f"several tasks have the id {part.key!r}: give each an id of its own", "id")
                continue
            self._parts[part.key] = part, here
            self._add_agent(part, here)

    def build_tasks(self, parts: Sequence[TaskPart]) -> list[Task]:
        """Return tasks that were added, without those that have problems."""
        built = (self._build_named(part.key) for part in parts)
        return [task for task in built if task is not None]

    def build_phases(self, parts: Sequence[PhasePart]) -> list[Phase]:
        """Return phases whose tasks were added, without those that have problems."""
        phases: dict[str, Phase] = {}
        for place, part in enumerate(parts):
            here = self._builder.at("phases", place)
            after = list(_find_phases(part.after or (), phases, [one.name for one in parts], here))
            tasks, workflow = self.build_tasks(part.tasks), _find_workflow(part.workflow)
            review = None if part.review is None else self._build_review(part.review, here.at("review"))
            if part.name in phases:
                here.add_problem(f"several phases have the name {part.name!r}: give each a name of its own", "name")
            elif len(tasks) == len(part.tasks):
                make = partial(Phase, part.name, tasks, after=after, workflow=workflow, review=review)
                phase = build_checked(make, here)
                if phase is not None:
                    phases[part.name] = phase
        return list(phases.values())

    def _add_agent(self, part: TaskPart, here: Builder) -> None:
        if isinstance(part.agent, Blueprint):
            built = self._nodes[id(part)] = here.build_node(part.agent, "agent")
            if built is not None:
                self._agents.setdefault(built.name, []).append(built)

    def _find_agent(self, part: TaskPart, here: Builder) -> BaseRunnable[object] | None:
        if not isinstance(part.agent, str):
            return self._nodes.get(id(part))
        found = self._agents.get(part.agent, [])
        if len(found) == 1:
            return found[0]
        hint = did_you_mean(part.agent, self._agents)
        how = "agents of the ensemble have the name" if found else "there is no agent in the ensemble with the name"
        here.add_problem(f"{f'{len(found)} ' if found else ''}{how} {part.agent!r}.{hint}", "agent")
        return None

    def _build_named(self, key: str) -> Task | None:
        """Return the task with an id, after those that it has as context."""
        if key not in self._tasks:
            part, here = self._parts[key]
            self._tasks[key] = None  # what leads back here is a circle
            self._tasks[key] = self._build(part, here, [key])
        return self._tasks[key]

    def _build(self, part: TaskPart, here: Builder, chain: list[str]) -> Task | None:
        context = None if part.context is None else [*self._find_context(part, here, chain)]
        model = ModelParts(part.model or "default", part.responder, part.temperature, part.options)
        settings: dict[str, Any] = {name: value for name in _PLAIN if (value := getattr(part, name)) is not None}
        settings |= {
            "agent": self._find_agent(part, here),
            "context": context,
            "model": model.build(here),
            "tools": build_tools(part.tool_class_names or (), part.agent_tools or (), here),
            "output_type": find_type(part.output_type, here, "outputType"),
            "handler": find_function(part.handler, here, "handler"),
            "when": find_function(part.when, here, "when"),
            "input_guardrails": build_guardrails(part.input_guardrails, here, "inputGuardrails"),
            "output_guardrails": build_guardrails(part.output_guardrails, here, "outputGuardrails"),
        }
        if part.reviews is not None:
            settings["review"] = _build_gates(part.reviews, here)
        return build_checked(lambda: Task(**settings), here)

    def _find_context(self, part: TaskPart, here: Builder, chain: list[str]) -> Iterator[Task]:
        for place, key in enumerate(part.context or ()):
            if key not in self._parts:
                hint = did_you_mean(key, self._parts)
                here.add_problem(f"there is no task with the id {key!r}.{hint}", "context", place)
            elif key in chain:
                path = " -> ".join(map(repr, [*chain[chain.index(key) :], key]))
                here.add_problem(f"circular context dependency: {path}. Remove one of these", "context", place)
            else:
                if key not in self._tasks:
                    other, there = self._parts[key]
                    self._tasks[key] = self._build(other, there, [*chain, key])
                if (task := self._tasks[key]) is not None:
                    yield task

    def _build_review(self, part: PhaseReviewPart, here: Builder) -> PhaseReview | None:
        given = {"max_retries": part.max_retries, "max_predecessor_retries": part.max_predecessor_retries}
        limits: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if (person := part.person) is not None:
            return build_checked(lambda: _build_person(person, limits), here)
        if part.task is not None:
            self._add_agent(part.task, here.at("task"))
            task = self._build(part.task, here.at("task"), [])
            return None if task is None else build_checked(lambda: PhaseReview(task, **limits), here)
        function = find_function(part.function, here, "function")
        return None if function is None else build_checked(lambda: PhaseReview(function, **limits), here)


def _build_gates(parts: Sequence[ReviewPart], here: Builder) -> list[Review]:
    gates = (here.attempt(lambda: Review(**list_fields(part)), "reviews", place) for place, part in enumerate(parts))  # noqa: B023 - called at once
    return [gate for gate in gates if gate is not None]


def _build_person(part: PersonPart, limits: Mapping[str, Any]) -> PhaseReview:
    settings = {"prompt": part.prompt, "timeout": part.timeout, "on_timeout": part.on_timeout}
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    return PhaseReview.by_person(part.role, **given, **limits)


def find_function(name: str | None, builder: Builder, field: str) -> Callable[..., Any] | None:
    """Return the function with a name; `None` without a name, and when there was a problem."""

    def find(path: str) -> Callable[..., Any]:
        if not inspect.isroutine(found := builder.names.find(path)):
            raise NameProblem(f"{path!r} is not a function")
        return cast("Callable[..., Any]", found)

    return None if name is None else builder.attempt(lambda: find(name), field)


def build_checked(make: Callable[[], T], builder: Builder) -> T | None:
    """Call `make`, and add all mistakes that it finds, at their places."""
    try:
        return make()
    except EnsembleDefinitionError as error:
        add_problems(error.problems, builder)
        return None


def add_problems(problems: Sequence[Problem], builder: Builder) -> None:
    """Add mistakes of a task, a phase or an ensemble at the places of their parts."""
    for problem in problems:
        steps = (int(step) if step.isdecimal() else step for step in _STEP.findall(problem.path))
        builder.add_problem(
            problem.message, *(step if isinstance(step, int) else _ALIASES.get(step, to_camel(step)) for step in steps)
        )


def _find_workflow(name: str | None) -> Workflow | None:
    return None if name is None else Workflow(name)


def _find_phases(
    names: Sequence[str], phases: Mapping[str, Phase], known: Sequence[str], here: Builder
) -> Iterator[Phase]:
    for place, name in enumerate(names):
        if name in phases:
            yield phases[name]
        elif name in known:
            here.add_problem(f"the phase {name!r} has to be written before this one", "after", place)
        else:
            here.add_problem(f"there is no phase with the name {name!r}.{did_you_mean(name, known)}", "after", place)
