"""`CodingAgent`: an agent that works on a repository."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Final, cast

from typing_extensions import Unpack, override

from tactician.agents import Agent
from tactician.agents.function import FunctionRunnable
from tactician.agents.spec import AgentSettings
from tactician.agents.toolboxes import DerivedTools
from tactician.coding.checks import measure, measure_after, stop_circles, verify_work
from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.instructions import WORK, describe_project
from tactician.coding.output import CodingOutput, SuiteSummary
from tactician.coding.projects.detection import detect_project
from tactician.coding.projects.project import ProjectSettings
from tactician.coding.session import CodingSession
from tactician.coding.tools.toolset import ToolBackend, resolve_backend, select_tools
from tactician.coding.window import CodingWindow
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.coding.workspaces.sharing import share_workspace
from tactician.coding.workspaces.workspace import Workspace
from tactician.conversation import Conversation
from tactician.errors import ConfigurationError
from tactician.loop.output import OutputType
from tactician.prompts.contributor_adapters import split_references
from tactician.runs import Input, RunContext, RunResult
from tactician.suggestions import suggest_options
from tactician.tools.toolbox import Toolbox

MAX_TURNS: Final = 75
_VERIFIED_ATTEMPTS: Final = 8


@suggest_options
class CodingAgent(Agent[CodingOutput]):
    """Agent with tools for code, the project in its instructions, and a workspace.

    Args:
        name: the name.
        workspace: the workspace, or a folder to work in directly. A workspace that is not open is opened for each run:
            a run that succeeds keeps it, and one that fails removes it. All agents of a run share it.
        backend: the origin of the tools.
        commands: the rules for commands: of the shell, of builds and of tests.
        require_approval: wait for the approval of a person before each change of a file and each commit.
        verify: accept the answer only when the tests that failed before pass, and no other test fails.
        project: settings of the project that override the detected ones, such as `{"test_command": "make check"}`.
        settings: the other settings of an `Agent`. `max_turns` is 75 by default. `tools` are further tools: one with
            the name of a coding tool takes its place. `instructions` are added to the instructions for work on code.

    Raises:
        DeclarationError: when a setting is not valid.
        ConfigurationError: when tests have to be verified, but may not be run.
    """

    def __init__(
        self,
        name: str = "Coder",
        *,
        workspace: Workspace | str | os.PathLike[str],
        backend: ToolBackend = ToolBackend.AUTO,
        commands: CommandPolicy | None = None,
        require_approval: bool = False,
        verify: bool = False,
        project: ProjectSettings | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace.in_place(workspace)
        self.commands = _check_policy(commands, name)
        self.backend = backend
        self.require_approval = require_approval
        self.verify = verify
        self.project_settings = project or ProjectSettings()
        self.own_settings = settings
        if verify and not self.commands.may_measure:
            raise ConfigurationError(
                f"{name} has verify=True, but may not run tests: install bubblewrap (`apt install bubblewrap`), or "
                'trust the repository with commands=CommandPolicy(mode="trusted").'
            )
        super().__init__(name, output_type=CodingOutput, **self._complete(settings))

    def _complete(self, settings: AgentSettings) -> AgentSettings:
        """Return the settings of the agent with the tools, the instructions and the checks for work on code."""
        own = settings.get("instructions", "")
        writable = self.workspace.kind != "read_only"
        native = select_tools(self.backend, self.commands, require_approval=self.require_approval, is_writable=writable)
        tools, references = split_references(settings.get("tools", ()))
        completed: AgentSettings = {
            "max_turns": MAX_TURNS,
            "window": CodingWindow(),
            "description": "Works on a repository: fixes bugs, implements, refactors, reviews and tests.",
            **settings,
            "tools": (*Toolbox(native).with_preferred(Toolbox(tools)).contents, *references),
            "contributors": (*settings.get("contributors", ()), describe_project),
            "tool_input_guardrails": (*settings.get("tool_input_guardrails", ()), stop_circles),
        }
        completed["instructions"] = f"{WORK}\n\n{own}".strip() if isinstance(own, str) else own
        if self.verify:
            completed["output_guardrails"] = (*settings.get("output_guardrails", ()), verify_work)
            completed["max_attempts"] = settings.get("max_attempts") or _VERIFIED_ATTEMPTS
        return completed

    @cached_property
    @override
    def _output(self) -> OutputType[CodingOutput]:
        """The answer of the model is the summary: all else is measured."""
        return OutputType("summary", None, _summarize, _accept, lambda text: None)

    @override
    def _run(
        self, input: Input, context: RunContext, conversation: Conversation | None
    ) -> Coroutine[object, object, RunResult[CodingOutput]]:
        return self._run_in_workspace(input, context, conversation)

    async def _run_in_workspace(
        self, input: Input, context: RunContext, conversation: Conversation | None
    ) -> RunResult[CodingOutput]:
        """Work in the workspace of the program, or in one of the run."""
        if self.workspace.is_open:
            return await self._work_on(self.workspace.opened, input, context, conversation)
        async with share_workspace(self.workspace, context) as opened:
            return await self._work_on(opened, input, context, conversation)

    async def _work_on(
        self, opened: OpenWorkspace, input: Input, context: RunContext, conversation: Conversation | None
    ) -> RunResult[CodingOutput]:
        project = await asyncio.to_thread(detect_project, opened.path, **self.project_settings)
        session = CodingSession(opened, project, self.commands)
        inside = context.inside({CodingSession: session})
        session.before = await _measure_before(inside)
        result = await self._work_with_tools(session, input, inside, conversation)
        files = await asyncio.to_thread(opened.list_changes)
        tests = await measure_after(session, inside)
        output = CodingOutput(result.output.summary, files, tests, opened.branch, str(opened.path))
        return replace(result, output=output)

    async def _work_with_tools(
        self, session: CodingSession, input: Input, context: RunContext, conversation: Conversation | None
    ) -> RunResult[CodingOutput]:
        """Work with the tools of the agent, and with servers for its workspace."""
        if resolve_backend(self.backend) is not ToolBackend.MCP:
            return await Agent._run(self, input, context, conversation)
        from tactician.coding.tools.servers import open_servers  # needs the extra `mcp`

        async with open_servers(session, require_approval=self.require_approval) as tools:
            equipped = copy(self)
            equipped._view = DerivedTools(self._view or self._current_tools, Toolbox(tools).with_preferred)
            return await Agent._run(equipped, input, context, conversation)


async def _measure_before(context: RunContext) -> SuiteSummary:
    """Run the tests before the work, once in a run that continues."""
    return (await _BEFORE.run("", context=context)).output


async def _run_tests(_: str, context: RunContext) -> SuiteSummary:
    """Run the tests of the workspace, before the work of an agent."""
    return await measure(CodingSession.__from_run__(context), context, "before")


_BEFORE: Final = FunctionRunnable.of(_run_tests, "tests before the work", namespace=globals())


def _summarize(text: str) -> CodingOutput:
    return CodingOutput(text.strip())


def _accept(value: object) -> CodingOutput:
    return value if isinstance(value, CodingOutput) else CodingOutput(cast("str", value))


def _check_policy(commands: object, agent: str) -> CommandPolicy:
    """Return the rules for commands, those by default for `None`.

    Raises:
        ConfigurationError: when it is something else, such as the name of a mode.
    """
    if commands is None:
        return CommandPolicy()
    if not isinstance(commands, CommandPolicy):
        raise ConfigurationError(f"{agent}: commands is {commands!r}; write commands=CommandPolicy(mode='ask')")
    return commands
