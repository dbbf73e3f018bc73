"""Drawing of the tasks of an ensemble in their order."""

from __future__ import annotations

from tactician.diagrams.diagram import Diagram, DiagramEdge
from tactician.ensemble.phases.drawing import draw_reviews
from tactician.ensemble.structure import EnsembleStructure


def draw_structure(structure: EnsembleStructure) -> Diagram:
    """Return a drawing of the tasks of an ensemble without a manager, and of the reviews of its phases."""
    known = {task.id for task in structure.tasks}
    jobs = (job for _, job in structure.places if job.task.id in known)
    drawings = {job.task.id: job.draw(f"task_{number}") for number, job in enumerate(jobs)}
    entries = {task_id: drawing.entry for task_id, drawing in drawings.items()}
    exits = {task_id: drawing.exit for task_id, drawing in drawings.items()}
    arrows = tuple(DiagramEdge(exits[task_id], entries[later]) for task_id, later in structure.find_arrows())
    has_phases = bool(structure.arguments.phases)
    reviews, ways = draw_reviews(structure.plan, entries, exits) if has_phases else ((), ())
    nodes = (node for drawing in drawings.values() for node in drawing.nodes)
    inner = (edge for drawing in drawings.values() for edge in drawing.edges)
    return Diagram((*nodes, *reviews), (*inner, *arrows, *ways))
