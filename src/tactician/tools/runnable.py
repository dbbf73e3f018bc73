"""Runnables as tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from typing_extensions import TypeVar

from tactician.errors import DeclarationError
from tactician.llm import ToolSpec
from tactician.runs import Input, RunContext, Runnable
from tactician.tools.artifacts import deliver_result
from tactician.tools.function import create_arguments_error, remove_titles
from tactician.tools.output import ToolOutput
from tactician.tools.tool import Tool, snake_case


class ToolRequest(BaseModel):
    """Arguments of a Runnable without typed arguments: a text."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    request: str = Field(description="what is to be done, in full")


A = TypeVar("A", default=ToolRequest)


class RunnableTool(Tool, Generic[A]):
    """Runnable that a model can call.

    Args:
        runnable: the Runnable.
        name: the name for the model; that of the Runnable by default.
        description: the purpose; that of the Runnable by default.
        arguments: type of the arguments, such as a pydantic model or a dataclass; by default a text, `request`.
        prompt: function from the arguments to the input of the Runnable; by default they are the input themselves,
            which agents read as JSON.

    Raises:
        DeclarationError: when the type of the arguments has no JSON schema of an object.
    """

    def __init__(
        self,
        runnable: Runnable,
        name: str | None = None,
        description: str | None = None,
        *,
        arguments: type[A] | None = None,
        prompt: Callable[[A], Input] | None = None,
    ) -> None:
        self._runnable = runnable
        label = name or snake_case(runnable.name)
        kind = cast("type[A]", ToolRequest) if arguments is None else arguments
        self._arguments: TypeAdapter[A] = _create_adapter(label, kind)
        self._prompt = prompt
        self.has_typed_arguments = arguments is not None
        schema = {key: value for key, value in self._arguments.json_schema().items() if key != "title"}
        if arguments is None:
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
        except ValidationError as error:
            raise create_arguments_error(error) from error
        if self._prompt is not None:
            return self._prompt(values)
        return values.request if isinstance(values, ToolRequest) else values

    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Run the Runnable, as a child of the calling run.

        Raises:
            InvalidArgumentsError: when the arguments do not fit their type.
        """
        result = await self._runnable.run(self.read(arguments), context=context)
        return deliver_result(result.output, self.name, context)


def _create_adapter(name: str, kind: type[A]) -> TypeAdapter[A]:
    try:
        adapter = TypeAdapter(kind)
        is_object = adapter.json_schema().get("type") == "object"
    except PydanticUserError as error:
        raise DeclarationError(f"tool {name}", [f"its arguments: {str(error).splitlines()[0]}"]) from error
    if not is_object:
        problem = f"its arguments are {getattr(kind, '__name__', kind)}: they must be a class with fields"
        raise DeclarationError(f"tool {name}", [problem])
    return adapter
