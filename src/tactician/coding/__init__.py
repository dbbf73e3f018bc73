"""Coding agents: agents with the tools, the context and the workspace that work on a repository needs."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.coding.agent import CodingAgent as CodingAgent
    from tactician.coding.commands.policy import CommandPolicy as CommandPolicy
    from tactician.coding.errors import WorkspaceError as WorkspaceError
    from tactician.coding.events import FileChanged as FileChanged
    from tactician.coding.events import SuiteMeasured as SuiteMeasured
    from tactician.coding.output import CodingOutput as CodingOutput
    from tactician.coding.projects.detection import detect_project as detect_project
    from tactician.coding.projects.project import Project as Project
    from tactician.coding.projects.project import ProjectPart as ProjectPart
    from tactician.coding.task import CodingTask as CodingTask
    from tactician.coding.tools.toolset import ToolBackend as ToolBackend
    from tactician.coding.window import CodingWindow as CodingWindow
    from tactician.coding.workspaces.workspace import Workspace as Workspace
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.coding.agent": "CodingAgent",
            "tactician.coding.commands.policy": "CommandPolicy",
            "tactician.coding.errors": "WorkspaceError",
            "tactician.coding.events": "FileChanged SuiteMeasured",
            "tactician.coding.output": "CodingOutput",
            "tactician.coding.projects.detection": "detect_project",
            "tactician.coding.projects.project": "Project ProjectPart",
            "tactician.coding.task": "CodingTask",
            "tactician.coding.tools.toolset": "ToolBackend",
            "tactician.coding.window": "CodingWindow",
            "tactician.coding.workspaces.workspace": "Workspace",
        },
    )
