"""Tools as MCP clients see them: goals and other Runnables, plain tools, and those about runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import TypeVar

import mcp_types as types
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

from tactician.agents import BaseRunnable
from tactician.clock import Timeout
from tactician.errors import DeclarationError, InvalidArgumentsError
from tactician.llm.model import ToolSpec
from tactician.platform import Platform
from tactician.platform.goal_tools import GoalTool
from tactician.runs import PendingRequest, RunContext, RunResult
from tactician.serve.mcp.banner import Banner
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.inputs import InputAnswer, build_input, read_input
from tactician.serve.mcp.output_types import find_runnable_type, find_tool_type
from tactician.serve.mcp.results import OutputForm, write_error
from tactician.serve.mcp.runs import RESPOND, CallResult, ClientRuns, RunEntry
from tactician.tools import RunnableTool, Tool
from tactician.tools.function import create_arguments_error

T = TypeVar("T")


class PublishedTool(ABC):
    """Tool as a client sees it."""

    definition: types.Tool

    @property
    def name(self) -> str:
        """The name for clients."""
        return self.definition.name

    @abstractmethod
    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Call the tool with arguments as JSON text.

        Raises:
            InvalidArgumentsError: when they do not fit.
            TacticianError: when the call fails.
        """

    async def continue_call(self, arguments: str, state: str, caller: Caller) -> CallResult:
        """Continue a call that has asked, with the answers of the caller; by default, nothing asks."""
        return await self.call(arguments, caller)


class RunTool(PublishedTool):
    """Goal or other Runnable. Each call is a run of the platform."""

    def __init__(self, tool: GoalTool | RunnableTool, runs: ClientRuns) -> None:
        self.entry = create_entry(tool)
        self._tool = tool
        self._runs = runs
        self.definition = define(tool.spec, self.entry.form)

    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Start a run, and return its result, or what it waits for."""
        return await self._runs.start(self.entry, partial(self.work, arguments), caller)

    async def continue_call(self, arguments: str, state: str, caller: Caller) -> CallResult:
        """Continue the run with the answers."""
        return await self._runs.continue_call(state, caller, self.entry)

    def check(self, arguments: str) -> None:
        """Check the arguments.

        Raises:
            InvalidArgumentsError: when they do not fit.
        """
        self._tool.read(arguments)

    async def work(self, arguments: str, context: RunContext) -> RunResult[object]:
        """Run the goal or Runnable inside a context."""
        if isinstance(self._tool, GoalTool):
            start = self._tool.read(arguments)
            return await self._tool.agent.run(start.objects, named=start.named, context=context)
        return await self.entry.runnable.run(self._tool.read(arguments), context=context)


class PlainTool(PublishedTool):
    """Tool that is no Runnable. A call that needs an approval asks the person at the client first."""

    def __init__(self, tool: Tool, platform: Platform) -> None:
        self._tool = tool
        self._platform = platform
        kind = find_tool_type(tool)
        self._form = OutputForm(() if kind is None else (kind,), may_wait=False)
        self.definition = define(tool.spec, self._form)

    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Call the tool."""
        request = self._find_approval(arguments)
        if request is None:
            return await self._call(arguments, caller)
        if not caller.can_ask:
            return write_error(f"{self.name} needs an approval, and this client cannot ask a person.")
        if not caller.may_answer(request):
            return self._refuse(request)
        if caller.asks_later:
            form = {request.id: build_input(request)}
            return types.InputRequiredResult(input_requests=form, request_state=request.id)
        return await self._decide(arguments, request, await caller.ask(request), caller)

    async def continue_call(self, arguments: str, state: str, caller: Caller) -> CallResult:
        """Call the tool, if the person approved it. The state says that these arguments were shown."""
        request = self._find_approval(arguments)
        answers = {} if request is None else caller.take_answers({request.id: request})
        if request is None or not answers:
            return await self.call(arguments, caller)
        return await self._decide(arguments, request, answers[request.id], caller)

    async def _decide(self, arguments: str, request: PendingRequest, answer: InputAnswer, caller: Caller) -> CallResult:
        if not caller.may_answer(request):
            return self._refuse(request)
        decision = read_input(request, answer)
        if getattr(decision, "granted", False):
            return await self._call(arguments, caller)
        return write_error(f"{self.name} was not approved. {getattr(decision, 'reason', '')}".strip())

    async def _call(self, arguments: str, caller: Caller) -> CallResult:
        async with caller.listen(caller.surround(self._platform.context())) as context:
            with context.enter(), Timeout(self._tool.traits.timeout, context.clock):
                return self._form.write_text(await self._tool.call(arguments, context))

    def _refuse(self, request: PendingRequest) -> types.CallToolResult:
        return write_error(f"{self.name} needs an approval by a person with the role {request.required_role!r}.")

    def _find_approval(self, arguments: str) -> PendingRequest | None:
        if not self._tool.traits.is_approval_needed(_read_object(arguments)):
            return None
        role = self._tool.traits.required_role
        return PendingRequest("approval", "approval", f"May {self.name}({arguments}) be called?", required_role=role)


class RespondTool(PublishedTool):
    """Tool that answers what a run waits for, for clients that cannot show forms, and after a restart."""

    def __init__(self, runs: ClientRuns) -> None:
        self._runs = runs
        self._arguments = TypeAdapter(_Response)
        description = (
            "Answer a request of a run that waits for a person. Give the answer of that person, never your own: for "
            'an approval {"approved": true} or {"approved": false, "reason": "..."}, for a confirmation true or false, '
            "else JSON in the shape of the request's schema. Where only a person may decide, the client shows a form."
        )
        self.definition = _define_own(RESPOND, description, self._arguments)

    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Answer, and return the result of the run, or what it waits for now."""
        answer = _validate(self._arguments, arguments)
        return await self._runs.respond(answer["run_id"], answer["request_id"], answer["answer"], caller)

    async def continue_call(self, arguments: str, state: str, caller: Caller) -> CallResult:
        """Continue the run with the answers to what it asked after that."""
        return await self._runs.continue_call(state, caller)


class StatusTool(PublishedTool):
    """Tool that shows where a run stands."""

    def __init__(self, runs: ClientRuns) -> None:
        self._runs = runs
        self._arguments = TypeAdapter(_Run)
        self.definition = _define_own("run_status", "Show where a run stands, and what it waits for.", self._arguments)
        self.definition.annotations = types.ToolAnnotations(read_only_hint=True)

    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Return the status of the run."""
        view = await self._runs.show(_validate(self._arguments, arguments)["run_id"], caller)
        return OutputForm((), may_wait=False).write(view)


class BannerTool(PublishedTool):
    """Tool that shows the banner of the server."""

    def __init__(self, banner: Banner) -> None:
        self._banner = banner
        self.definition = define(
            ToolSpec("hello_banner", "Show the name and the version of this server.", _NO_ARGUMENTS),
            OutputForm((), may_wait=False),
        )
        self.definition.annotations = types.ToolAnnotations(read_only_hint=True)

    async def call(self, arguments: str, caller: Caller) -> CallResult:
        """Return the banner."""
        return OutputForm((), may_wait=False).write(self._banner.describe())


_NO_ARGUMENTS: dict[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}


class _Run(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    run_id: str


class _Response(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    run_id: str
    request_id: str
    answer: JsonValue


def create_entry(tool: GoalTool | RunnableTool) -> RunEntry:
    """Return what a tool runs, and the form of its output.

    Raises:
        DeclarationError: when its runs cannot wait and continue.
    """
    if isinstance(tool, GoalTool):
        return RunEntry(tool.agent, OutputForm(tool.goal.output_types, may_wait=True))
    runnable = tool.runnable
    if not isinstance(runnable, BaseRunnable):
        problem = "its runs cannot be continued; make it with `runnable(f, name=..., description=...)`"
        raise DeclarationError(runnable.name, [problem])
    kind = find_runnable_type(runnable)
    return RunEntry(runnable, OutputForm(() if kind is None else (kind,), may_wait=True))


def define(spec: ToolSpec, form: OutputForm) -> types.Tool:
    """Return the definition of a tool for clients."""
    return types.Tool(
        name=spec.name, description=spec.description, input_schema=dict(spec.parameters), output_schema=form.schema
    )


def _define_own(name: str, description: str, arguments: TypeAdapter[T]) -> types.Tool:
    schema = {key: value for key, value in arguments.json_schema().items() if key != "title"}
    return define(ToolSpec(name, description, schema), OutputForm((), may_wait=False))


def _validate(arguments: TypeAdapter[T], text: str) -> T:
    try:
        return arguments.validate_json(text or "{}")
    except ValidationError as error:
        raise create_arguments_error(error) from error


def _read_object(arguments: str) -> Mapping[str, object]:
    try:
        read = from_json(arguments or "{}")
    except ValueError as error:
        raise InvalidArgumentsError(f"The arguments are not JSON: {error}") from error
    return read if isinstance(read, dict) else {}
