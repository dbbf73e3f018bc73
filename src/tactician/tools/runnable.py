"""Runnables as tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Generic, Protocol, cast, runtime_checkable

import pydantic
from pydantic.errors import PydanticUserError
from typing_extensions import TypeVar

from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm.model import ToolSpec
from tactician.runs import Input, RunContext, Runnable
from tactician.text import snake_case
from tactician.tools.artifacts import deliver_result
from tactician.tools.function import create_arguments_error, remove_titles
from tactician.tools.tool import Tool, ToolOutput


@frozen
class ToolRequest:
    """Arguments of a Runnable without typed arguments: a text."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = {"extra": "forbid"}

    request: Annotated[str, pydantic.Field(description="the full task")]


@frozen
class ToolParameter:
    """Parameter of a tool, instead of a field of a type.

    Attributes:
        name: the name.
        kind: the type, such as `str`, `int` or `float`.
        description: the meaning, for the model.
        is_required: false when the model may leave it out.
    """

    name: str
    kind: type
    description: str
    is_required: bool = True


@runtime_checkable
class TypedInput(Protocol):
    """Runnable that says itself which arguments it has as a tool, such as an ensemble with templates."""

    @property
    def tool_arguments(self) -> type[object] | None:
        """The type of the arguments; `None` for a text."""
        ...


A = TypeVar("A", default=ToolRequest)


class RunnableTool(Tool, Generic[A]):
    """Runnable that a model can call.

    Args:
        runnable: the Runnable.
        name: the name for the model; the name of the Runnable by default.
        description: the purpose; the Runnable's by default.
        arguments: type of the arguments, such as a pydantic model or a dataclass; by default those that the Runnable
            names, such as the values for the templates of an ensemble, and else a text, `request`.
        prompt: function from the arguments to the input of the Runnable; by default they are the input themselves,
            which agents read as JSON.
        parameters: the parameters, in the place of a type of the arguments; the input is the arguments as JSON.

    Attributes:
        arguments: type of the arguments; `None` for the default, and for parameters.
        prompt: function from the arguments to the input of the Runnable.
        parameters: the parameters that take the place of a type.

    Raises:
        DeclarationError: when there are arguments and parameters, or two parameters of a name, or when the type of the
            arguments has no JSON schema of an object.
    """

    def __init__(
        self,
        runnable: Runnable,
        name: str | None = None,
        description: str | None = None,
        *,
        arguments: type[A] | None = None,
        prompt: Callable[[A], Input] | None = None,
        parameters: Sequence[ToolParameter] = (),
    ) -> None:
        self._runnable = runnable
        label = name or snake_case(runnable.name)
        self.arguments, self.prompt, self.parameters = arguments, prompt, tuple(parameters)
        if parameters and (arguments or prompt):
            raise DeclarationError(f"tool {label}", ["it has parameters and arguments: leave out either"])
        typed_arguments = runnable.tool_arguments if isinstance(runnable, TypedInput) and prompt is None else None
        kind = _build_arguments(label, parameters) if parameters else arguments or typed_arguments or ToolRequest
        self._arguments: pydantic.TypeAdapter[A] = _create_adapter(label, cast("type[A]", kind))
        schema = {key: value for key, value in self._arguments.json_schema().items() if key != "title"}
        if arguments is None and not parameters:
            schema.pop("description", None)
        self._spec = ToolSpec(label, description or runnable.description, remove_titles(schema))

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    @property
    def runnable(self) -> Runnable:
        """The Runnable."""
        return self._runnable

    def read(self, arguments: str) -> Input:
        """Parse the arguments, and return the input of the Runnable.

        Raises:
            InvalidArgumentsError: when they do not fit their type.
        """
        try:
            values = self._arguments.validate_json(arguments or "{}")
        except pydantic.ValidationError as error:
            raise create_arguments_error(error) from error
        if self.prompt is not None:
            return self.prompt(values)
        if self.parameters:
            return cast("pydantic.BaseModel", values).model_dump_json(exclude_none=True)
        return values.request if isinstance(values, ToolRequest) else values

    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Run the Runnable, as a child of the calling run.

        Raises:
            InvalidArgumentsError: when the arguments do not fit their type.
        """
        result = await self._runnable.run(self.read(arguments), context=context)
        return deliver_result(result.output, self.name, context)


@runtime_checkable
class _SelfMade(Protocol):
    """Runnable that makes the tool itself, such as an instance of a `@planned_agent` class."""

    def as_tool(self) -> Tool: ...


def convert_runnable(runnable: Runnable) -> Tool:
    """Return a Runnable as a tool of its name: as its `as_tool` does, where it has this method."""
    return runnable.as_tool() if isinstance(runnable, _SelfMade) else RunnableTool(runnable)


def _create_adapter(name: str, kind: type[A]) -> pydantic.TypeAdapter[A]:
    try:
        adapter = pydantic.TypeAdapter(kind)
        is_object = adapter.json_schema().get("type") == "object"
    except PydanticUserError as error:
        raise DeclarationError(f"tool {name}", [f"its arguments: {str(error).splitlines()[0]}"]) from error
    if not is_object:
        problem = f"its arguments are {getattr(kind, '__name__', kind)}: they must be a class with fields"
        raise DeclarationError(f"tool {name}", [problem])
    return adapter


def _build_arguments(tool: str, parameters: Sequence[ToolParameter]) -> type[pydantic.BaseModel]:
    """Return the type of the arguments of a tool with these parameters.

    Raises:
        DeclarationError: when two have the same name.
    """
    names = [parameter.name for parameter in parameters]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise DeclarationError(f"tool {tool}", [f"the parameter {name!r} is there twice" for name in twice])
    fields = {parameter.name: _build_field(parameter) for parameter in parameters}
    create: Callable[..., type[pydantic.BaseModel]] = pydantic.create_model  # the names of the fields are data
    return create(tool, __config__=pydantic.ConfigDict(extra="forbid"), **fields)


def _build_field(parameter: ToolParameter) -> tuple[object, object]:
    described = pydantic.Field(description=parameter.description)
    if parameter.is_required:
        return parameter.kind, described
    return parameter.kind | None, pydantic.Field(default=None, description=parameter.description)
