"""Steps of flows: functions and Runnables behind a common interface."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, cast

from typing_extensions import TypeForm

from tactician.agents.base import BaseRunnable, TypedRunnable, find_input_types
from tactician.agents.outputs import accept_output, load_output, save_output
from tactician.ai import Ai
from tactician.clock import Clock
from tactician.errors import DeclarationError, InvalidArgumentsError
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import Text, UserMessage
from tactician.llm.messages import join_text
from tactician.loop.output import InvalidOutput
from tactician.process import UserInput
from tactician.process.people.questions import allow_questions
from tactician.runs import Input, OutputError, RunContext, Runnable, RunParameter, RunResult, RunStatus
from tactician.runs.context.parameters import find_run_parameter
from tactician.runs.life.inputs import READS_MESSAGES, InputTypes
from tactician.runs.runnable import is_conversation, messages_of
from tactician.tools.signature import resolve_hints
from tactician.tools.tool import as_text

_RAW: Final = (str, int, float, dict)


def fit_argument(value: object, hint: object, clock: Clock) -> object:
    """Return a value for a parameter, with text and JSON converted to the declared type.

    Raises:
        InvalidOutput: when they cannot.
    """
    if hint in (str, UserInput) and (isinstance(value, str) or is_conversation(value)):
        text = join_text(messages_of(value))
        return text if hint is str else UserInput(text, datetime.fromtimestamp(clock.time(), UTC))
    return accept_output(value, hint) if _is_raw(value) else value


def _is_raw(value: object) -> bool:
    return isinstance(value, _RAW) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, _RAW) for item in value)
    )


def simplify_input(input: Input) -> Input:
    """Return the input; for a single user message, its text."""
    messages = input if is_conversation(input) else [input]
    only = messages[0] if len(messages) == 1 else None
    is_text = isinstance(only, UserMessage) and all(isinstance(part, Text) for part in only.parts)
    return join_text(messages_of(only)) if is_text else input


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
StepLike: TypeAlias = Runnable | Callable[..., T | Awaitable[T]]
"""A Runnable, or a function, plain or `async`, of the values that the flow gives to the step, of which it may leave out
the last ones. Parameters of type `Ai`, `RunContext`, `OperationContext` or another `RunParameter` get that, as do those
without a type that are named `ai` or `context`."""

_NAMED = {"ai": Ai, "context": RunContext}


@frozen
class StepInput:
    """Input of a step.

    Attributes:
        values: the arguments for a function.
        runnable_input: the input for any other Runnable.
    """

    values: tuple[object, ...]
    runnable_input: Input


class FunctionStep(BaseRunnable[T], Generic[T]):
    """Function as a step. Its result is saved as the declared type, or as JSON.

    Args:
        function: the function.
        kind: the type of the result; the type of the annotation, when `None`.
        name: of the step.
        namespace: the names of types that are declared inside a function.
        most: maximum number of arguments.

    Raises:
        DeclarationError: when it needs more than that.
    """

    def __init__(
        self,
        function: Callable[..., T | Awaitable[T]],
        kind: TypeForm[T] | None,
        name: str,
        namespace: Mapping[str, object],
        most: int,
    ) -> None:
        self.name = name
        self.description = name
        self._function = function
        hints = resolve_hints(_find_annotated(function), namespace)
        # What a lambda returns is known to the flow only, and what a generator returns to itself.
        self._output = kind if kind is not None else cast("TypeForm[T] | None", hints.get("return"))
        self._parameters = tuple(_parameters(function, hints, name, most))

    def find_types(self, number: int) -> InputTypes:
        """Return the declared types of the value with this number."""
        hints = [
            parameter.hint for parameter in self._parameters if parameter.service is None and parameter.number == number
        ]
        return InputTypes(tuple(hint for hint in hints if hint is not None), reads_messages=not hints)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        assert isinstance(input, StepInput)
        if (saved := load_output(context, self._output)) is not None:
            output = cast("T", saved.value)
        else:
            await context.begin_step()
            inside = context.as_internal()
            with allow_questions(inside):
                output = self._validate_output(await self._call(input, inside), context)
            await save_output(context, output, self._output)
        return RunResult(output, tally=context.tally, run_id=context.run_id)

    async def _call(self, step_input: StepInput, context: RunContext) -> object:
        arguments = [parameter.find(step_input, context) for parameter in self._parameters if not parameter.keyword]
        named = {
            parameter.name: parameter.find(step_input, context) for parameter in self._parameters if parameter.keyword
        }
        result = self._function(*arguments, **named)
        return await result if isinstance(result, Awaitable) else result

    def _validate_output(self, value: object, context: RunContext) -> T:
        try:
            return cast("T", accept_output(value, self._output))
        except InvalidOutput as error:
            kind = getattr(self._output, "__name__", str(self._output))
            failed = RunResult(None, RunStatus.FAILED, tally=context.tally, run_id=context.run_id)
            raise OutputError(f"{self.name} gave no valid {kind}: {error}", failed, as_text(value)) from error


class Step(Protocol[T_co]):
    """Runnable that takes a `StepInput` and has a known output type."""

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def description(self) -> str:
        """The purpose."""
        ...

    def find_types(self, number: int) -> InputTypes:
        """Return the declared types of the value with this number."""
        ...

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T_co]:
        """Do the work."""
        ...


def as_step(
    step: StepLike[T], kind: TypeForm[T] | None, label: str, namespace: Mapping[str, object], *, most: int
) -> Step[T]:
    """Return a function or a Runnable as a step."""
    if isinstance(step, Runnable):
        return _RunnableStep[T](step if kind is None else TypedRunnable(step, kind))
    name = getattr(step, "__name__", "<lambda>")
    return FunctionStep(step, kind, label if name.startswith("<") else name, namespace, most)


def choose_label(name: str | None, returning: object) -> str:
    """Return the name of a flow; by default, the name of its output type."""
    return name or str(getattr(returning, "__name__", returning))


class _RunnableStep(Generic[T]):
    """Runnable as a step, which gets text or an object where a function gets values."""

    def __init__(self, inner: Runnable) -> None:
        self.name = inner.name
        self.description = inner.description
        self.inner = inner

    def find_types(self, number: int) -> InputTypes:
        """Return the declared types of the first value; the others become text."""
        return READS_MESSAGES if number else find_input_types(self.inner)

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T]:
        """Run it."""
        assert isinstance(input, StepInput)
        result = await self.inner.run(input.runnable_input, context=context)
        return cast("RunResult[T]", result)  # `Returns` has validated it


@frozen
class _Parameter:
    """Parameter with its source: a service, or the value with this number."""

    name: str
    hint: object
    keyword: bool
    service: RunParameter[object] | None
    number: int = 0

    def find(self, step_input: StepInput, context: RunContext) -> object:
        """Return the value of the parameter.

        Raises:
            InvalidArgumentsError: when the value is not of its type.
        """
        if self.service is not None:
            return self.service.__from_run__(context)
        try:
            return fit_argument(step_input.values[self.number], self.hint, context.clock)
        except InvalidOutput as error:
            step = context.path[-1]
            raise InvalidArgumentsError(f"{step}: the parameter {self.name!r} does not fit: {error}") from error


def _parameters(
    function: Callable[..., object], hints: Mapping[str, object], name: str, most: int
) -> Iterator[_Parameter]:
    number = 0
    for parameter in _signature(function):
        hint = hints.get(parameter.name, _NAMED.get(parameter.name))
        keyword = parameter.kind is parameter.KEYWORD_ONLY
        service = find_run_parameter(hint)
        if service is not None:
            yield _Parameter(parameter.name, hint, keyword, service)
        elif number < most:
            yield _Parameter(parameter.name, hint, keyword, None, number)
            number += 1
        elif parameter.default is parameter.empty:
            raise DeclarationError(
                name, [f"parameter {parameter.name!r} gets nothing: the step receives {format_count(most, 'value')}"]
            )


def _signature(function: Callable[..., object]) -> Iterator[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some that are built in do not say
        return iter((inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY),))
    return (
        parameter for parameter in parameters if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def _find_annotated(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that has the annotations, behind a partial or a callable object."""
    plain = getattr(function, "func", function)
    if inspect.isroutine(plain) or isinstance(plain, type):
        return cast("Callable[..., object]", plain)
    return cast("Callable[..., object]", type(plain).__call__)
