"""Builder of the phases of an ensemble from their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.agent_directory import AgentDirectory
from tactician.blueprint.ensembles.mistakes import build_checked
from tactician.blueprint.ensembles.phase_parts import PersonPart, PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.task_builder import TaskScope
from tactician.blueprint.functions import find_function
from tactician.blueprint.models import list_fields
from tactician.ensemble import Phase, PhaseReview
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
        here = builder.at("phases", place)
        after = list(_find_phases(part, phases, [phase.name for phase in parts], here))
        tasks = list(scope.build_added(part.inner_tasks).values())
        review = None if part.review is None else _build_review(part.review, scope, agents, here.at("review"))
        if part.name in phases:
            here.add_problem(f"several phases have the name {part.name!r}: give each a name of its own", "name")
        elif len(tasks) == len(part.tasks):
            make = partial(Phase, part.name, tasks, after=after, workflow=part.workflow, review=review)
            if (phase := build_checked(make, part, here)) is not None:
                phases[part.name] = phase
    return list(phases.values())


def _find_phases(part: PhasePart, phases: Mapping[str, Phase], known: Sequence[str], here: Builder) -> Iterator[Phase]:
    earlier = known[: known.index(part.name)]
    for place, name in enumerate(part.after or ()):
        if name in phases:
            yield phases[name]
        elif name in known and name not in earlier:  # an earlier one has problems of its own
            here.add_problem(f"the phase {name!r} has to be written before this one", "after", place)
        elif name not in known:
            here.add_problem(f"there is no phase with the name {name!r}.{did_you_mean(name, known)}", "after", place)


def _build_review(part: PhaseReviewPart, scope: TaskScope, agents: AgentDirectory, here: Builder) -> PhaseReview | None:
    numbers = {"max_retries": part.max_retries, "max_predecessor_retries": part.max_predecessor_retries}
    limits: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    if (person := part.person) is not None:
        return build_checked(lambda: _build_person(person, limits), part, here)
    if part.task is not None:
        agents.add_from(part.task, here.at("task"))
        task = scope.build(part.task, here.at("task"))
        return None if task is None else build_checked(lambda: PhaseReview(task, **limits), part, here)
    function = find_function(part.function, here, "function")
    return None if function is None else build_checked(lambda: PhaseReview(function, **limits), part, here)


def _build_person(part: PersonPart, limits: Mapping[str, Any]) -> PhaseReview:
    return PhaseReview.by_person(**list_fields(part), **limits)
