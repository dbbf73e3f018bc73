"""Pipelines: tools that run in turn, each on the output of the tool before, as a single tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Literal, TypeAlias, get_args

from pydantic_core import from_json, to_json
from typing_extensions import override

from tactician.errors import DeclarationError, ToolError
from tactician.frozen import frozen
from tactician.llm import ToolCall, ToolResult
from tactician.llm.model import ToolSpec
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools.builtin.pipeline_schema import PipelineStep, combine_schemas
from tactician.tools.schema_check import SchemaCheck
from tactician.tools.tool import Tool, is_tool_name
from tactician.tools.toolbox import Toolbox, ToolLike, as_tool
from tactician.tools.traits import NeedsApproval, ToolTraits

PipelineErrorPolicy: TypeAlias = Literal["stop", "continue"]


@frozen
class Adapter:
    """Function between two steps of a pipeline.

    Attributes:
        function: gets the output of the step before, and returns the input of the next step.
        to: the parameter of the next step that gets the input; the first parameter, when `None`.
    """

    function: Callable[[str], object]
    to: str | None = None


def adapt(function: Callable[[str], object] = str, *, to: str | None = None) -> Adapter:
    """Return a function as an adapter between two steps of a pipeline.

    Args:
        function: gets the output of the step before, if that succeeded, and returns the input of the next step.
        to: the parameter of the next step that gets the input; the first parameter by default.

    Raises:
        DeclarationError: when the function is a coroutine function.
    """
    if iscoroutinefunction(function):
        why = "it is a coroutine function, which a pipeline does not await; make a step of it with @tool"
        raise DeclarationError(f"adapter {getattr(function, '__name__', function)}", [why])
    return Adapter(function, to)


def pipeline(
    *steps: ToolLike | Adapter,
    name: str | None = None,
    description: str | None = None,
    on_error: PipelineErrorPolicy = "stop",
) -> Pipeline:
    """Create a tool that runs other tools in turn, without a model that decides between them.

    The first parameter of each step gets the output of the step before; its other parameters are parameters of the
    pipeline, as are all parameters of the first step.

    Args:
        *steps: the tools in their order, with adapters between them. An agent, or any other Runnable, is a tool whose
            parameter is its input.
        name: the name; by default, the names of the tools.
        description: the purpose; by default, the purposes of the tools.
        on_error: the effect of a step that fails: `"stop"` ends the pipeline with its error; `"continue"` gives the
            error to the next step as its input, past an adapter.

    Raises:
        DeclarationError: when there is no tool, an adapter is not between two tools, or two steps do not fit together.
    """
    parsed = _parse_steps(steps, name or "pipeline")
    label = name or "_then_".join(step.tool.name for step in parsed)[:64]
    if not is_tool_name(label):
        raise DeclarationError(f"pipeline {label}", [f"no provider takes the name {label!r}; use pipeline(name=...)"])
    if on_error not in get_args(PipelineErrorPolicy):
        raise DeclarationError(f"pipeline {label}", [f"on_error is {on_error!r}, not 'stop' or 'continue'"])
    purpose = description or _describe(parsed)
    return Pipeline(parsed, ToolSpec(label, purpose, combine_schemas(parsed, label)), on_error)


class Pipeline(Tool):
    """Tools that run in turn, as a single tool: see `pipeline`.

    A step that is completed does not run again when the run goes on after a suspension.

    Attributes:
        on_error: the effect of a step that fails, as of `pipeline`.
    """

    def __init__(self, steps: Sequence[PipelineStep], spec: ToolSpec, on_error: PipelineErrorPolicy) -> None:
        self._steps = tuple(steps)
        self._spec = spec
        self._check = SchemaCheck(spec.name, spec.parameters)
        self.on_error = on_error
        self.traits = ToolTraits(needs_approval=_needs_approval(self._steps), required_role=_find_role(self._steps))

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r})"

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def parts(self) -> tuple[Tool | Adapter, ...]:
        """The tools in their order, with the adapters between them."""
        adapters = (None if step.adapt is None else Adapter(step.adapt, step.to) for step in self._steps)
        pairs = zip(adapters, self._steps, strict=True)
        return tuple(part for adapter, step in pairs for part in (adapter, step.tool) if part is not None)

    @override
    async def call(self, arguments: str, context: RunContext) -> str:
        """Run the steps, and return the output of the last step.

        Raises:
            InvalidArgumentsError: when the arguments do not fit; then no step has run.
            ToolError: when a step fails, or only the last step with `on_error="continue"`.
        """
        self._check.check(arguments)
        values: Mapping[str, object] = from_json(replace_surrogates(arguments) or "{}")
        result: ToolResult | None = None
        for number, step in enumerate(self._steps):
            result = await _run(step, values, result, context.at(str(number)))
            if result.is_error and (self.on_error == "stop" or step is self._steps[-1]):
                raise ToolError(f"Step {number + 1} ({step.tool.name}) failed: {result.content}")
        assert result is not None
        return result.content


def _parse_steps(steps: Sequence[ToolLike | Adapter], name: str) -> list[PipelineStep]:
    """Return the tools, each with the adapter before it."""
    parsed: list[PipelineStep] = []
    adapter: Adapter | None = None
    problems = []
    for place, step in enumerate(steps):
        if not isinstance(step, Adapter):
            parsed.append(PipelineStep(as_tool(step), *(() if adapter is None else (adapter.function, adapter.to))))
            adapter = None
        elif place in (0, len(steps) - 1) or adapter is not None:
            problems.append(f"step {place + 1} is an adapter, which must be between two tools")
        else:
            adapter = step
    if not parsed:
        problems.append("there is no tool in it")
    problems += [
        f"the tool {step.tool.name!r} is called by the caller, which a pipeline cannot wait for"
        for step in parsed
        if step.tool.traits.client_side
    ]
    problems += [
        f"the tool {step.tool.name!r} has no parameter {step.to!r} for an adapter"
        for step in parsed
        if step.to not in (None, *step.properties)
    ]
    roles = sorted({role for step in parsed if (role := step.tool.traits.required_role) is not None})
    if len(roles) > 1:
        listed = ", ".join(roles)
        problems.append(f"its steps need approvals of several roles ({listed}), and a pipeline is approved as a whole")
    if problems:
        raise DeclarationError(f"pipeline {name}", problems)
    return parsed


def _describe(steps: Sequence[PipelineStep]) -> str:
    listed = "\n".join(f"{number}. {step.tool.description}" for number, step in enumerate(steps, start=1))
    return f"Does these steps, each on the output of the one before:\n{listed}"


def _needs_approval(steps: Sequence[PipelineStep]) -> NeedsApproval:
    """Return the rule of the first step, or `True` if a later step, whose call is not known yet, needs an approval."""
    if any(step.tool.traits.needs_approval for step in steps[1:]):
        return True
    return steps[0].tool.traits.needs_approval


def _find_role(steps: Sequence[PipelineStep]) -> str | None:
    """Return the role that a person needs to approve all steps."""
    return next((role for step in steps if (role := step.tool.traits.required_role) is not None), None)


async def _run(
    step: PipelineStep, values: Mapping[str, object], before: ToolResult | None, place: RunContext
) -> ToolResult:
    """Return the result of a step, from the checkpoint if it is completed."""
    saved = {} if place.checkpoint is None else place.checkpoint.data
    if isinstance(output := saved.get("output"), str):
        return ToolResult(step.tool.name, step.tool.name, output, is_error=saved.get("failed") is True)
    try:
        arguments = to_json(step.collect_arguments(values, before)).decode()
    except Exception as error:  # of an adapter, which is the user's code, or of what it returned
        raise ToolError(f"The adapter before {step.tool.name} failed: {type(error).__name__}: {error}") from error
    call = ToolCall(step.tool.name, step.tool.name, arguments)
    result = await Toolbox([step.tool]).answer(call, place.at("call"))
    if place.checkpoint is not None:
        place.checkpoint.set(output=result.content, failed=result.is_error)
        await place.save_step("tool", step.tool.name, result.content)
    return result
