"""Agents in a folder of JSON files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tactician.agents import Agent
from tactician.agents.spec import AgentSettings
from tactician.documents.data import DataPath
from tactician.documents.document import DataDocument, load_document
from tactician.documents.problems import Problems
from tactician.errors import AgentFileError, DocumentError, Problem
from tactician.llm import LlmOptions
from tactician.llm.model import JsonSchema
from tactician.loop import Autonomous
from tactician.loop.autonomy import TASK_OVER
from tactician.names import NameProblem
from tactician.platform import Platform
from tactician.service.entries import SUBJECT, AgentEntry, FunctionEntry, read_entry
from tactician.service.names import AgentFileNames
from tactician.tools import DeclaredTool, as_tool
from tactician.tools.declared_tool import ToolExecutor
from tactician.tools.traits import ToolTraits

T = TypeVar("T")


def build(document: DataDocument, names: AgentFileNames) -> Agent[object]:
    """Return the agent that a document describes.

    Raises:
        DocumentError: with every name that stands for nothing, and all else that is wrong.
    """
    builder = _Builder(names, Problems(document))
    agent = builder.agent(read_entry(document))
    builder.problems.check(SUBJECT)
    return agent


class _Builder:
    """Builder of an agent, which collects the problems of its file."""

    def __init__(self, names: AgentFileNames, problems: Problems) -> None:
        self._names = names
        self.problems = problems

    def agent(self, entry: AgentEntry) -> Agent[object]:
        tools = [self._tool(function, ("functions", place)) for place, function in enumerate(entry.functions)]
        output = self._find_named(("resultClass",), self._names.kind, entry.result_class)
        return Agent(entry.name, output_type=output, **_settings(entry, tools))

    def _tool(self, entry: FunctionEntry, path: DataPath) -> DeclaredTool:
        execute, own_schema = self._executor(entry, path)
        schema = entry.parameters or own_schema
        if entry.parameter_class is not None:
            schema = self._find_named((*path, "parameterClass"), self._names.schema, entry.parameter_class)
        if entry.name == TASK_OVER and not entry.ends_turn:
            self.problems.add(f"{TASK_OVER!r} ends the turn; name it otherwise, or set endsTurn", *path, "name")
        traits = ToolTraits(ends_turn=entry.ends_turn, group=entry.group, client_side=execute is None)
        return DeclaredTool(entry.name, entry.description, schema, execute=execute, traits=traits)

    def _executor(self, entry: FunctionEntry, path: DataPath) -> tuple[ToolExecutor | None, JsonSchema | None]:
        """Return the executor of the function, unless the caller executes it, and the schema of its arguments."""
        if entry.executor_class is not None:
            return self._find_named((*path, "executorClass"), self._names.executor, entry.executor_class), None
        if entry.method_class is None or entry.method_name is None:
            return None, None
        owner, name = entry.method_class, entry.method_name
        method = self._find_named((*path, "methodClass"), lambda _: self._names.method(owner, name), owner)
        if method is None:
            return None, None
        return (lambda call: method(**call.parse_arguments())), as_tool(method).spec.parameters

    def _find_named(self, path: DataPath, find: Callable[[str], T], name: str | None) -> T | None:
        try:
            return None if name is None else find(name)
        except NameProblem as problem:
            self.problems.add(str(problem), *path)
            return None


def _settings(entry: AgentEntry, tools: Sequence[DeclaredTool]) -> AgentSettings:
    settings: AgentSettings = {
        "id": entry.id,
        "description": entry.description,
        "instructions": entry.instructions,
        "model": _options(entry),
        "tools": tools,
    }
    if entry.autonomous:
        settings["autonomy"] = _autonomy(entry)
    if (retries := entry.retry_config.deserialization_retries) is not None:
        settings["max_attempts"] = retries + 1
    return settings


def _options(entry: AgentEntry) -> LlmOptions:
    timeout = entry.response_timeout
    native = (("web_search", entry.web_search), ("code_interpreter", entry.code_interpreter))
    return LlmOptions(
        model=entry.model,
        temperature=entry.temperature,
        max_tokens=entry.max_tokens,
        reasoning_effort=entry.reasoning_effort,
        timeout=None if timeout is None else timeout / 1000,
        native_tools=tuple(name for name, is_enabled in native if is_enabled),
        network_retries=entry.retry_config.network_retries,
        truncation_retries=entry.retry_config.max_token_retries,
        content_filter_retries=entry.retry_config.content_filter_retries,
        instances=entry.instances or ((entry.instance_id,) if entry.instance_id is not None else ()),
    )


def _autonomy(entry: AgentEntry) -> Autonomous:
    interval, groups = entry.min_iteration_interval_ms, entry.enabled_tool_groups
    usual = Autonomous(
        max_iterations=None if entry.max_iterations_unlimited else entry.max_iterations,
        end_turn_on_plain_reply=entry.end_turn_on_plain_reply,
        enabled_tool_groups=None if groups is None else frozenset(groups),
        max_tool_output_tokens=entry.max_tool_token_output,
        compact_after=entry.compact_tool_results_after_iteration,
        keep_last=entry.compact_keep_last_n_iterations,
        max_conversation_tokens=entry.max_conversation_tokens,
        min_iteration_interval=None if interval is None else interval / 1000,
        infinite=entry.infinite_loop or entry.disable_task_over,
    )
    retries = entry.retry_config.max_iteration_retries
    return usual if retries is None else replace(usual, retries=retries)


def load_agents(folder: Path, names: AgentFileNames, taken: Mapping[str, object]) -> dict[str, Agent[object]]:
    """Load the agents that the `*.json` files of a folder describe, by their ids.

    Args:
        folder: folder of the files.
        names: classes and functions that the files may name.
        taken: agents whose ids are in use already.

    Raises:
        AgentFileError: with every mistake in all files, or when there is no such folder.
    """
    subject, problems = f"The agents in {folder} are not described correctly", Problems()
    if not folder.is_dir():
        raise AgentFileError(subject, [Problem("", "there is no such folder")])
    agents: dict[str, Agent[object]] = {}
    files: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            document = load_document(file)
            agent = build(document, names)
        except DocumentError as error:
            problems.include(error, file.name)
            continue
        if agent.id in taken or agent.id in agents:
            owner = files.get(agent.id, "an agent that was registered")
            message = f"{agent.id!r} is taken by {owner}; every agent needs its own"
            problems.add(message, "id", document=document, file=file.name)
        agents[agent.id], files[agent.id] = agent, file.name
    problems.check(subject, AgentFileError)
    return agents


class AgentFolder:
    """The agents of a folder, as they are registered on a platform.

    Args:
        path: where the JSON files of agents are.
        names: what these files may name.
        platform: where the agents are registered.

    Raises:
        AgentFileError: with every mistake in all files.
    """

    def __init__(self, path: Path, names: AgentFileNames, platform: Platform) -> None:
        self._path = path
        self._names = names
        self._platform = platform
        self._loaded: dict[str, Agent[object]] = {}
        self.reload()

    def reload(self) -> tuple[str, ...]:
        """Read the folder again, and return the ids of its agents.

        What is new is registered, what is gone is forgotten. On a mistake nothing changes.

        Raises:
            AgentFileError: with every mistake in all files.
        """
        platform = self._platform
        registered_keys = {key for key, agent in self._loaded.items() if platform.agents_by_id.get(key) is agent}
        loaded = load_agents(
            self._path,
            self._names,
            {key: agent for key, agent in platform.agents_by_id.items() if key not in registered_keys},
        )
        for key in registered_keys:
            platform.unregister(key)
        platform.register(*loaded.values())
        self._loaded = loaded
        return tuple(loaded)
