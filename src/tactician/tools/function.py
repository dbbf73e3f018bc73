"""Typed functions as tools."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from types import CoroutineType
from typing import Annotated, Generic, NotRequired, ParamSpec, TypeVar, cast, get_origin, overload

import pydantic
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from typing_extensions import TypedDict

from tactician.errors import DeclarationError, InvalidArgumentsError
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.runs.context.parameters import find_run_parameter
from tactician.runs.context.threads import in_thread
from tactician.tools.artifacts import deliver_result
from tactician.tools.result_types import is_structured
from tactician.tools.signature import find_caller_namespace, parse_docstring, resolve_hints
from tactician.tools.tool import Tool, ToolOutput, is_tool_name
from tactician.tools.traits import NO_TRAITS, NeedsApproval, ToolTraits

P = ParamSpec("P")
R = TypeVar("R")


class _Compiled:
    """Compiled function: its schema, its validator, and the parameters that the run fills."""

    def __init__(
        self, function: Callable[..., object], name: str, description: str | None, hints: dict[str, object]
    ) -> None:
        docs = parse_docstring(function)
        parameters = list(inspect.signature(function).parameters.values())
        if parameters and _is_receiver(parameters[0].name, hints):
            parameters = parameters[1:]
        annotations = {parameter.name: find_run_parameter(hints.get(parameter.name)) for parameter in parameters}
        self.result_type = hints.get("return")
        self.run_parameters = {name: kind for name, kind in annotations.items() if kind is not None}
        fields = _build_fields(
            name, [p for p in parameters if p.name not in self.run_parameters], hints, docs.parameters
        )
        adapter = _adapter(name, fields)
        self.validate = adapter.validator.validate_json  # the adapter's own method goes through two calls more
        schema = {k: v for k, v in adapter.json_schema().items() if k != "title"}
        self.spec = ToolSpec(name, description or docs.summary or name.replace("_", " "), remove_titles(schema))

    @cached_property
    def output_schema(self) -> JsonSchema | None:
        """The JSON schema of the results, or `None`."""
        if self.result_type is str:
            return {"type": "string"}
        if not is_structured(self.result_type):
            return None
        try:
            return pydantic.TypeAdapter(cast("type[object]", self.result_type)).json_schema(mode="serialization")
        except (PydanticSchemaGenerationError, PydanticUserError):
            return None  # an object without a JSON form


def _get_function(declared: object) -> Callable[..., object]:
    """Return the function of a class method, or the function itself."""
    return cast(Callable[..., object], declared.__func__ if isinstance(declared, classmethod) else declared)


def _is_receiver(parameter: str, hints: Mapping[str, object]) -> bool:
    """Return whether the first parameter is the object or the class of a method."""
    return parameter == "self" or (parameter == "cls" and get_origin(hints.get(parameter, type[object])) is type)


def _build_fields(
    name: str, parameters: Iterable[inspect.Parameter], hints: Mapping[str, object], docs: Mapping[str, str]
) -> dict[str, object]:
    fields: dict[str, object] = {}
    problems = [] if is_tool_name(name) else [f"no provider takes the name {name!r}; use @tool(name=...)"]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            problems.append(f"parameter {parameter}: a model passes arguments by name; give it a plain name")
        elif parameter.name not in hints:
            problems.append(f"parameter {parameter.name!r} has no type; annotate it, as in `{parameter.name}: str`")
        else:
            fields[parameter.name] = _build_field(parameter, hints[parameter.name], docs.get(parameter.name))
    if problems:
        raise DeclarationError(f"tool {name}", problems)
    return fields


def _build_field(parameter: inspect.Parameter, hint: object, description: str | None) -> object:
    shown: dict[str, pydantic.JsonValue] = {} if description is None else {"description": description}
    if parameter.default is parameter.empty:
        return Annotated[hint, pydantic.Field(json_schema_extra=shown)]
    # The function fills its own defaults; the model only has to know them.
    if isinstance(parameter.default, str | int | float | bool):
        shown["default"] = parameter.default
    return NotRequired[Annotated[hint, pydantic.Field(json_schema_extra=shown)]]


def _adapter(name: str, fields: Mapping[str, object]) -> pydantic.TypeAdapter[dict[str, object]]:
    arguments = TypedDict("arguments", fields)  # type: ignore[misc]
    arguments.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    try:
        return pydantic.TypeAdapter(arguments)  # type: ignore[arg-type]
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise DeclarationError(f"tool {name}", [str(error).splitlines()[0]]) from error


def remove_titles(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema of arguments without the titles of its properties, which repeat their names."""
    properties = schema.get("properties")
    for described in properties.values() if isinstance(properties, dict) else ():
        described.pop("title", None)
    return schema


class FunctionTool(Tool, Generic[P, R]):
    """Function as a tool. It can still be called as a function; in a class it is a method.

    A plain function runs on the event loop: a function that waits (files, databases, HTTP) should be `async`, or be
    declared `blocking`, which runs it in a thread.
    """

    def __init__(
        self,
        function: Callable[P, R],
        compiled: _Compiled,
        *,
        blocking: bool = False,
        traits: ToolTraits = NO_TRAITS,
    ) -> None:
        self.__wrapped__ = function
        self.__name__ = compiled.spec.name
        self.__doc__ = function.__doc__
        self._compiled = compiled
        self.blocking = blocking
        self.traits = traits

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._compiled.spec

    @property
    def result_type(self) -> object:
        """The type of what the function returns, as it declares it; `None` where it declares none, or nothing."""
        return self._compiled.result_type

    @property
    def output_schema(self) -> JsonSchema | None:
        """The JSON schema of what the function returns; `None` where it declares no type that has one."""
        return self._compiled.output_schema

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R]:
        if instance is None and not isinstance(self.__wrapped__, classmethod):
            return self
        method = cast(Callable[..., R], self.__wrapped__.__get__(instance, owner))
        return FunctionTool(method, self._compiled, blocking=self.blocking, traits=self.traits)

    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Validate the arguments, run the function, and return its result as text.

        Raises:
            InvalidArgumentsError: when the arguments do not fit the function's types.
            ConfigurationError: when the function asks for what this run does not have, as a process outside of actions.
        """
        try:
            values = self._compiled.validate(arguments or "{}")
        except pydantic.ValidationError as error:
            raise create_arguments_error(error) from error
        for name, kind in self._compiled.run_parameters.items():
            values[name] = kind.__from_run__(context)
        function = cast("Callable[..., object]", self.__wrapped__)
        result = await in_thread(function, **values) if self.blocking else function(**values)
        # A check of the abstract class takes longer, and nearly all functions that wait are coroutines.
        if isinstance(result, (CoroutineType, Awaitable)):
            result = await result
        return deliver_result(result, self._compiled.spec.name, context)


def create_arguments_error(error: pydantic.ValidationError) -> InvalidArgumentsError:
    """Return the error for arguments that do not fit, with a message for the model."""
    return InvalidArgumentsError(f"The arguments are not valid: {describe_validation_error(error)}")


def describe_validation_error(error: pydantic.ValidationError) -> str:
    """Return the problems of a value, in words that a model can act on."""
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    )


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = False,
    needs_approval: NeedsApproval = False,
    required_role: str | None = None,
    client_side: bool = False,
    ends_turn: bool = False,
    return_direct: bool = False,
    repeatable: bool = False,
    group: str | None = None,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    blocking: bool = False,
    needs_approval: NeedsApproval = False,
    required_role: str | None = None,
    client_side: bool = False,
    ends_turn: bool = False,
    return_direct: bool = False,
    repeatable: bool = False,
    group: str | None = None,
    timeout: float | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Create a tool of a typed function or method: `@tool` or `@tool(name=..., ...)`.

    The name, the types and defaults of the parameters, and the docstring give the schema. A parameter of type
    `RunContext`, `Ai`, `OperationContext`, `AgentProcess`, `Blackboard` or another `RunParameter` gets what belongs to
    the run, and is not shown to the model. An exception becomes a message to the model.

    Args:
        function: the function, when used without parentheses.
        name: the name for the model; the function's own by default.
        description: the purpose; the docstring by default.
        blocking: run the function in a thread, because it waits without `await`.
        needs_approval: wait until a call is approved; a function decides by the arguments.
        required_role: role that a person needs to approve a call, such as `"manager"`; anybody may, when `None`.
        client_side: let the caller of the run call the tool; the function itself is never called.
        ends_turn: end the run with a call, with the model's text or else the tool's result as the answer.
        return_direct: end the run with a call, with the tool's result as the answer.
        repeatable: allow repeated calls with the same arguments, as in polling.
        group: the group that must be enabled for a model to see it.
        timeout: seconds that a call may take.

    Raises:
        DeclarationError: when a parameter has no type, or a type without a JSON form; or for a required role, when no
            call needs an approval.
    """
    namespace = find_caller_namespace(1)
    traits = ToolTraits(
        needs_approval=needs_approval,
        required_role=required_role,
        client_side=client_side,
        ends_turn=ends_turn,
        return_direct=return_direct,
        repeatable=repeatable,
        group=group,
        timeout=timeout,
    )

    def make(wrapped: Callable[P, R]) -> FunctionTool[P, R]:
        label = name or str(getattr(wrapped, "__name__", type(wrapped).__name__))
        plain = _get_function(wrapped)
        compiled = _Compiled(plain, label, description, resolve_hints(plain, namespace))
        return FunctionTool(wrapped, compiled, blocking=blocking, traits=traits)

    return make if function is None else make(function)
