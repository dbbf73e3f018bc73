"""Coding agents: agents with the tools, the context and the workspace that work on a repository needs."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.coding.projects.detection import detect_project as detect_project
    from tactician.coding.projects.project import Project as Project
    from tactician.coding.projects.project import ProjectPart as ProjectPart
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.coding.projects.detection": "detect_project",
            "tactician.coding.projects.project": "Project ProjectPart",
        },
    )
