"""Blueprints of coding agents: `coding_agent`, with its workspace and its rules for commands."""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from tactician.agents import Agent
from tactician.agents.spec import AgentSettings
from tactician.blueprint import Builder, Exporter, blueprint_exporter, blueprint_type
from tactician.blueprint.agents import AgentFields, export_fields
from tactician.blueprint.schema_base import Name, Part, Positive, Seconds
from tactician.blueprint.turn_settings import Instructions
from tactician.coding.agent import MAX_TURNS, CodingAgent
from tactician.coding.commands.policy import CommandMode, CommandPolicy
from tactician.coding.projects.project import ProjectSettings
from tactician.coding.tools.toolset import ToolBackend
from tactician.coding.workspaces.workspace import Workspace, WorkspaceKind

_MODULE: Final = "tactician.coding"


class WorkspacePart(Part):
    """Workspace of a coding agent: a folder of the project, and how it is worked in."""

    source: Name
    kind: WorkspaceKind = "in_place"
    base: Name | None = None
    name: Name | None = None
    allows_lfs: bool | None = None
    folder: Name | None = None

    def build(self, builder: Builder) -> Workspace | None:
        """Return the workspace; `None` when a folder cannot be used."""
        source = builder.resolve_file(self.source, "source")
        folder = None if self.folder is None else builder.resolve_file(self.folder, "folder")
        if source is None or (folder is None and self.folder is not None):
            return None
        values = {"base": self.base, "name": self.name, "allows_lfs": self.allows_lfs}
        options: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        return builder.attempt(lambda: Workspace(self.kind, source, folder=folder, **options))

    @classmethod
    def export(cls, workspace: Workspace, exporter: Exporter) -> WorkspacePart | None:
        """Return the part of a workspace."""
        default = Workspace(workspace.kind, workspace.source)
        fields = {
            name: value
            for name in ("base", "name", "allows_lfs")
            if (value := getattr(workspace, name)) != getattr(default, name)
        }
        if workspace.folder is not None:
            fields["folder"] = exporter.make_relative(workspace.folder)
        return exporter.make(
            cls, {"source": exporter.make_relative(workspace.source), "kind": workspace.kind, **fields}
        )


class CommandPolicyPart(Part):
    """Rules for the commands of a coding agent. The time is in seconds."""

    mode: CommandMode | None = None
    network: bool | None = None
    timeout: Seconds | None = None
    max_output: Positive | None = None
    readable: tuple[Name, ...] | None = None

    def build(self, builder: Builder) -> CommandPolicy | None:
        """Return the rules; `None` when a folder cannot be used."""
        readable = [builder.resolve_file(path, "readable", place) for place, path in enumerate(self.readable or ())]
        plain = {name: getattr(self, name) for name in ("mode", "network", "timeout", "max_output")}
        options: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
        folders = tuple(path for path in readable if path is not None)
        return builder.attempt(lambda: CommandPolicy(readable=folders, **options))

    @classmethod
    def export(cls, policy: CommandPolicy, exporter: Exporter) -> CommandPolicyPart | None:
        """Return the part of rules; `None` for the rules by default."""
        names = ("mode", "network", "timeout", "max_output")
        default = CommandPolicy()
        fields: dict[str, object] = {
            name: value for name in names if (value := getattr(policy, name)) != getattr(default, name)
        }
        if policy.readable:
            fields["readable"] = tuple(map(exporter.make_relative, policy.readable))
        return exporter.make(cls, fields) if fields else None


class ProjectPartSettings(Part):
    """Settings of the project that count more than the detected ones."""

    language: Name | None = None
    build_system: Name | None = None
    build_command: Name | None = None
    test_command: Name | None = None
    lint_command: Name | None = None
    format_command: Name | None = None
    source_folders: tuple[Name, ...] | None = None
    test_folders: tuple[Name, ...] | None = None


@blueprint_type("coding_agent")
class CodingAgentBlueprint(AgentFields):
    """Blueprint of a coding agent."""

    type: Literal["coding_agent"] = "coding_agent"
    name: Name = "Coder"
    model: Name
    instructions: Instructions = ""
    max_turns: Positive = MAX_TURNS
    workspace: WorkspacePart
    backend: Literal["auto", "native", "mcp", "minimal"] | None = None
    commands: CommandPolicyPart | None = None
    require_approval: bool | None = None
    verify: bool | None = None
    project: ProjectPartSettings | None = None

    def build_with(self, builder: Builder) -> CodingAgent | None:
        """Return the coding agent, if what builds it allows agents that change files and run commands."""
        if not builder.may_use("a coding agent", _MODULE):
            return None
        workspace = self.workspace.build(builder.at("workspace"))
        commands = CommandPolicy() if self.commands is None else self.commands.build(builder.at("commands"))
        settings = self.build_settings(builder)
        if workspace is None or commands is None:
            return None
        project = {} if self.project is None else self.project.model_dump(exclude_none=True)

        def create() -> CodingAgent:
            return CodingAgent(
                self.name,
                workspace=workspace,
                backend=ToolBackend(self.backend or "auto"),
                commands=commands,
                require_approval=bool(self.require_approval),
                verify=bool(self.verify),
                project=cast("ProjectSettings", project),
                **settings,
            )

        return builder.attempt(create)


@blueprint_exporter(CodingAgent)
def export_coding_agent(agent: CodingAgent, exporter: Exporter) -> CodingAgentBlueprint | None:
    """Return the blueprint of a coding agent: its settings without what makes it one."""
    settings: AgentSettings = {**agent.own_settings, "max_turns": agent.spec.max_turns}
    plain: Agent[object] = Agent(agent.name, **settings)
    if agent.workspace.is_open:
        exporter.add_problem("it is open: a blueprint has a workspace that each run opens for itself", "workspace")
        return None
    project = exporter.at("project").make(ProjectPartSettings, dict(agent.project_settings))
    fields = {
        **export_fields(plain, exporter),
        "workspace": WorkspacePart.export(agent.workspace, exporter.at("workspace")),
        "backend": None if agent.backend is ToolBackend.AUTO else agent.backend.value,
        "commands": CommandPolicyPart.export(agent.commands, exporter.at("commands")),
        "require_approval": agent.require_approval or None,
        "verify": agent.verify or None,
        "project": project if agent.project_settings else None,
    }
    return exporter.make(CodingAgentBlueprint, fields)
