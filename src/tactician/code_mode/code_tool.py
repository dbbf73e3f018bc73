"""`CodeTool`: a tool in which a model calls other tools by a script."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict, override

from tactician.code_mode.limits import CodeLimits, check_monty
from tactician.code_mode.script import Sandbox, run_script
from tactician.code_mode.signatures import create_function, describe_functions, name_functions
from tactician.code_mode.variables import ScriptVariables
from tactician.errors import DeclarationError, StoredStateError, ToolError
from tactician.events.event import new_id
from tactician.llm import ToolCall, ToolResult
from tactician.llm.model import ToolSpec
from tactician.runs import RunContext
from tactician.suggestions import suggest_options
from tactician.tools import Tool, as_tool
from tactician.tools.function import create_arguments_error
from tactician.tools.provider import ToolProvider
from tactician.tools.toolbox import Toolbox, ToolInvoker, ToolLike, split_providers
from tactician.tools.traits import NeedsApproval, ToolTraits

_INTRODUCTION: Final = (
    "Run a Python script that calls functions. Use it for several calls at once, loops, and work on their results. "
    "The value of the last line and what is printed come back. A function that fails raises RuntimeError. Several "
    "calls can be awaited together by asyncio.gather; then await each call in the script. There are no files, no "
    "network, and few modules: json, re, math, datetime, asyncio."
)
_VARIABLES: Final = " Variables and functions that a script defines are there in the next script."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    code: str


class _RecordedCall(TypedDict):
    """Call of a tool that a script has made, with its result."""

    name: str
    arguments: str
    content: str
    is_error: bool


@suggest_options
class CodeTool(ToolProvider):
    """Tool in which a model calls other tools by a Python script, in a sandbox without files and network.

    Each call in a script goes the way of a direct call: approvals, guardrails, limits, events, budget. When a call has
    to wait for a person, the run waits; then the script runs again from its beginning, and calls that had ended give
    their recorded results.

    Args:
        tools: the tools that scripts may call, and providers of such tools, as an MCP server.
        name: the name for the model.
        limits: the limits of a script.
        needs_approval: wait for an approval of each script; a function decides by the arguments.
        required_role: role that a person needs to approve a script; anybody may, when `None`.

    Raises:
        MissingExtraError: when the extra `monty` is not installed.
        DeclarationError: when an object is not a tool, or two tools have the same name.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike],
        *,
        name: str = "run_code",
        limits: CodeLimits | None = None,
        needs_approval: NeedsApproval = False,
        required_role: str | None = None,
    ) -> None:
        check_monty()
        self.name = name
        self.limits = limits or CodeLimits()
        self._traits = ToolTraits(calls_tools=True, needs_approval=needs_approval, required_role=required_role)
        listed, self._providers = split_providers(tools)
        self._listed = tuple(map(as_tool, listed))
        name_functions(self._listed)
        if not (self._listed or self._providers):
            raise DeclarationError("CodeTool", ["it has no tools"])
        self._last: ScriptTool | None = None

    @property
    def needs_approval(self) -> NeedsApproval:
        """Approval of scripts: true, false, or a function that decides by the arguments."""
        return self._traits.needs_approval

    @property
    def required_role(self) -> str | None:
        """The role that a person needs to approve a script."""
        return self._traits.required_role

    @property
    def contents(self) -> tuple[ToolLike, ...]:
        """The tools that scripts may call, and the providers of further tools."""
        return (*self._listed, *self._providers)

    @override
    async def load_tools(self) -> tuple[ScriptTool]:
        """Return the tool that runs scripts, with the functions as they are now.

        Raises:
            DeclarationError: when two tools have the same name.
        """
        loaded = [await provider.load_tools() for provider in self._providers]
        tools = (*self._listed, *chain.from_iterable(loaded))
        if self._last is None or self._last.tools != tools:
            self._last = ScriptTool(self.name, tools, self.limits, self._traits)
        return (self._last,)

    @override
    async def aclose(self) -> None:
        for provider in self._providers:
            await provider.aclose()


class ScriptTool(Tool):
    """Tool that runs the scripts of a `CodeTool` in a run.

    Args:
        name: the name for the model.
        tools: the tools that scripts may call.
        limits: the limits of a script.
        traits: the special behaviour in the turn loop.

    Attributes:
        tools: the tools that scripts may call.

    Raises:
        DeclarationError: when two tools have the same name.
    """

    def __init__(self, name: str, tools: tuple[Tool, ...], limits: CodeLimits, traits: ToolTraits) -> None:
        functions = {name: tool.for_scripts() for name, tool in name_functions(tools).items()}
        self.tools = tools
        self._names = {function: tool.name for function, tool in functions.items()}
        self._toolbox = Toolbox(functions.values())
        self._functions = {name: create_function(tool) for name, tool in functions.items()}
        self._limits = limits
        introduction = f"{_INTRODUCTION}{_VARIABLES if limits.state else ''}"
        schema = {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "the script"}},
            "required": ["code"],
            "additionalProperties": False,
        }
        self._spec = ToolSpec(name, f"{introduction} Functions:\n{describe_functions(functions)}", schema)
        self.traits = traits

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Run a script.

        Raises:
            InvalidArgumentsError: when there is no script.
            ToolError: when the script fails, or outside of the turns of a model.
            Suspended: when a call of the script has to wait.
        """
        try:
            code = _Arguments.model_validate_json(arguments).code
        except ValidationError as error:
            raise create_arguments_error(error) from error
        if len(code) > self._limits.code:
            raise ToolError(f"The script has {len(code)} characters; {self._limits.code} are allowed.")
        if (invoker := context.find(ToolInvoker)) is None:
            raise ToolError("Scripts run in the turns of a model only, where their calls can be checked.")
        calls = _ScriptCalls(context, invoker, self._toolbox, self._names)
        variables = ScriptVariables(context.checkpoint, self.name, self._limits.state)
        sandbox = calls.create_sandbox(self._limits, variables.load())
        output = await run_script(code, self._functions, calls.call, sandbox)
        note = "" if variables.keep(output.state) else _describe_lost(output.state, self._limits)
        return "\n".join(filter(None, (output.printed.rstrip("\n"), output.value, note))) or "done"


def _describe_lost(state: bytes, limits: CodeLimits) -> str:
    return (
        f"[The variables of this script are not kept: they have {len(state):,} bytes, and {limits.state:,} are "
        "allowed. The next script finds those from before it.]"
    )


class _ScriptCalls:
    """Calls of a script, of which the results are recorded in the checkpoint of the script."""

    def __init__(self, context: RunContext, invoker: ToolInvoker, tools: Toolbox, names: dict[str, str]) -> None:
        self._context = context
        self._invoker = invoker
        self._tools = tools
        self._names = names
        self._place = context.checkpoint
        self._id = new_id() if self._place is None else self._place.path.rpartition("/")[2]

    def create_sandbox(self, limits: CodeLimits, state: bytes | None) -> Sandbox:
        """Create the surroundings of the script for its first run."""
        started = self._context.clock.time()
        if self._place is not None:
            saved_start = self._place.data.get("started")
            if isinstance(saved_start, int | float):
                started = saved_start
            else:
                self._place.set(started=started)
        return Sandbox(limits, datetime.fromtimestamp(started, UTC), self._id, state)

    async def call(self, number: int, function: str, arguments: str) -> ToolResult:
        """Call a tool, or return the result of a call that has ended before.

        Raises:
            ToolError: when the script does not repeat its calls.
            Suspended: when the call has to wait.
        """
        call = ToolCall(f"{self._id}.{number}", self._names[function], arguments)
        if (recorded := self._find(call)) is not None:
            return recorded
        result = await self._invoker.invoke(call, self._tools)
        await self._record(call, result)
        return result

    def _find(self, call: ToolCall) -> ToolResult | None:
        saved = None if self._place is None else self._place.at(call.id).data.get("call")
        if saved is None:
            return None
        try:
            recorded_call = _create_adapter().validate_python(saved)
        except ValidationError as error:
            raise StoredStateError(f"The saved call {call.id} of a script cannot be read: {error}") from error
        if (recorded_call["name"], recorded_call["arguments"]) != (call.name, call.arguments):
            raise ToolError("The script did not repeat its calls after a pause. Write it without random order.")
        return ToolResult(call.id, call.name, recorded_call["content"], recorded_call["is_error"])

    async def _record(self, call: ToolCall, result: ToolResult) -> None:
        if self._place is None:
            return
        self._place.drop(call.id)
        recorded_call = _RecordedCall(
            name=call.name, arguments=call.arguments, content=result.content, is_error=result.is_error
        )
        self._place.at(call.id).set(call=recorded_call)
        await self._context.save_step("tool", call.name, result.content)


@cache
def _create_adapter() -> TypeAdapter[_RecordedCall]:
    return TypeAdapter(_RecordedCall)
