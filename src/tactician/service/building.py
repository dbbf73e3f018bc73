"""Agents of what JSON files say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tactician.agents import Agent
from tactician.agents.spec import AgentSettings
from tactician.documents.data import DataPath
from tactician.documents.document import DataDocument
from tactician.documents.problems import Problems
from tactician.llm import LlmOptions
from tactician.llm.model import JsonSchema
from tactician.loop import Autonomous
from tactician.loop.autonomy import TASK_OVER
from tactician.names import NameProblem
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
