"""Drawings of the reviews of phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tactician.diagrams.diagram import DiagramEdge, DiagramNode
from tactician.ensemble.phases.plan import PhasePlan, PlannedPhase
from tactician.ensemble.phases.review import PersonReview


def draw_reviews(
    plan: PhasePlan, entries: Mapping[str, str], exits: Mapping[str, str]
) -> tuple[tuple[DiagramNode, ...], tuple[DiagramEdge, ...]]:
    """Return a node for the review of each phase: behind the last tasks, with a dashed arrow back to the first ones.

    Args:
        plan: the phases.
        entries: ids of the nodes to which arrows to a task lead, by task id.
        exits: ids of the nodes from which arrows leave a task, by task id.
    """
    reviewed = [(f"review_{n}", planned) for n, planned in enumerate(plan.phases) if planned.phase.review is not None]
    nodes = (
        DiagramNode(node_id, ("review", planned.name, _name_reviewer(planned)), "hexagon")
        for node_id, planned in reviewed
    )
    return tuple(nodes), tuple(
        edge for node_id, planned in reviewed for edge in _draw_edges(node_id, planned, entries, exits)
    )


def _draw_edges(
    id: str, planned: PlannedPhase, entries: Mapping[str, str], exits: Mapping[str, str]
) -> Iterator[DiagramEdge]:
    for task in planned.workflow.find_last_tasks(planned.phase.own_tasks):
        yield DiagramEdge(exits[task.id], id)
    for task in planned.workflow.find_first_tasks(planned.phase.own_tasks):
        yield DiagramEdge(id, entries[task.id], "retry", "dashed")


def _name_reviewer(planned: PlannedPhase) -> str:
    """Return who decides on a phase."""
    if planned.reviewer is not None:
        return planned.reviewer.role
    review = planned.phase.review
    role = review.reviewer.role if review is not None and isinstance(review.reviewer, PersonReview) else None
    return role or "a person"
