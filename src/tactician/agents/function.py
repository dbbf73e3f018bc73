"""Any async function as a Runnable."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import cast

from typing_extensions import TypeVar, override

from tactician.agents.base import BaseRunnable
from tactician.agents.outputs import accept_output, load_output, save_output
from tactician.llm import UserMessage
from tactician.runs import Input, RunContext, RunResult
from tactician.runs.life.inputs import InputTypes
from tactician.runs.runnable import is_conversation
from tactician.tools.signature import find_caller_namespace, resolve_hints

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=str)


class FunctionRunnable(BaseRunnable[T_co]):
    """Function as a Runnable; see `runnable`."""

    def __init__(
        self, function: Callable[..., Awaitable[T_co]], name: str, description: str, hints: Mapping[str, object]
    ) -> None:
        self.name = name
        self.description = description
        self.__wrapped__ = function
        self._hints = hints
        self._parameters = tuple(inspect.signature(function).parameters)

    @classmethod
    def of(
        cls,
        function: Callable[..., Awaitable[T]],
        name: str | None = None,
        description: str | None = None,
        namespace: Mapping[str, object] = MappingProxyType({}),
    ) -> FunctionRunnable[T]:
        """Return a function as a Runnable, with its own name and docstring by default; see `runnable`."""
        own_name = str(getattr(function, "__name__", type(function).__name__))
        label = description or (function.__doc__ or own_name).strip()
        return FunctionRunnable(function, name or own_name, label, resolve_hints(function, namespace))

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes() if (hint := self._input_hint) is None else InputTypes((hint,))

    @property
    def result_type(self) -> object:
        """The type of what the function returns, as it declares it; `None` where it declares none."""
        return self._hints.get("return")

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        hint = self._hints.get("return")
        if (saved := load_output(context, hint)) is not None:
            output = cast("T_co", saved.value)
        else:
            await context.begin_step()
            with context.as_internal().enter() as inside:
                output = await self.__wrapped__(*self._build_arguments(input, inside))
            await save_output(context, output, hint)
        return RunResult(output, tally=context.tally, run_id=context.run_id)

    @property
    def _input_hint(self) -> object:
        return self._hints.get(self._parameters[0]) if self._parameters else None

    def _build_arguments(self, input: Input, context: RunContext) -> tuple[object, ...]:
        first = self._input_hint
        is_json = isinstance(input, dict) and first is not dict
        argument = accept_output(input, first) if is_json else _read_text(input) if first is str else input
        takes_context = any(self._hints.get(name) is RunContext for name in self._parameters)
        return (argument, context) if takes_context else (argument,)


def _read_text(input: Input) -> Input:
    """Return what the user says last in a conversation, for a function that takes a text; any other input as it is."""
    user_messages = [message for message in input if isinstance(message, UserMessage)] if is_conversation(input) else []
    return user_messages[-1].text if user_messages else input


def runnable(
    function: Callable[..., Awaitable[T_co]], *, name: str | None = None, description: str | None = None
) -> FunctionRunnable[T_co]:
    """Return a Runnable of an async function with a single argument, the input.

    With a second parameter of type `RunContext` it gets the context of its run, for the runs inside it:
    `await agent.run(..., context=context)`. When such a run has to wait, the function is called again afterwards,
    from its beginning, and the runs that had ended give their results again.
    """
    return FunctionRunnable.of(function, name, description, find_caller_namespace(1))
