"""Functions and plain objects as prompt contributors, and the instructions that contributors make together."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, cast, runtime_checkable

from typing_extensions import override

from tactician.errors import ConfigurationError, DeclarationError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.prompts.contributors import ActiveDirectives, Place, PromptContributor
from tactician.prompts.references import LlmReference
from tactician.runs import RunContext
from tactician.runs.context.parameters import find_run_parameter
from tactician.tools.signature import resolve_hints
from tactician.tools.toolbox import ToolLike


@runtime_checkable
class SupportsContribution(Protocol):
    """Object of any class with the method of a prompt contributor."""

    def contribution(self) -> str:
        """Return the text."""
        ...


ContributionFunction: TypeAlias = Callable[..., object]
"""Function that returns the text or `None`, also as a coroutine. Its parameters, if any, belong to a run."""
ContributorLike: TypeAlias = PromptContributor | SupportsContribution | ContributionFunction


@frozen
class FunctionContributor(PromptContributor):
    """Function as a prompt contributor.

    Attributes:
        function: the function.
        parameters: the parameters that the run fills, with their classes.
    """

    function: ContributionFunction
    parameters: Mapping[str, object]

    @override
    def contribution(self) -> str:
        return self._check(self.function(**self._collect_arguments(RunContext.current())))

    @override
    async def contribute(self, context: RunContext) -> str:
        text = self.function(**self._collect_arguments(context))
        return self._check(await text if isinstance(text, Awaitable) else text)

    def _collect_arguments(self, context: RunContext) -> dict[str, object]:
        kinds = {name: find_run_parameter(hint) for name, hint in self.parameters.items()}
        return {name: kind.__from_run__(context) for name, kind in kinds.items() if kind is not None}

    def _check(self, text: object) -> str:
        return _check_text(text, getattr(self.function, "__qualname__", repr(self.function)))


@frozen
class ObjectContributor(PromptContributor):
    """Object with a method `contribution` as a prompt contributor. Its attribute `place`, if any, is the place."""

    inner: SupportsContribution

    @property
    @override
    def place(self) -> Place:
        return "end" if getattr(self.inner, "place", None) == "end" else "beginning"

    @override
    def contribution(self) -> str:
        return _check_text(self.inner.contribution(), type(self.inner).__name__)


def as_contributor(value: ContributorLike) -> PromptContributor:
    """Return a prompt contributor, an object with a method `contribution`, or a function as a contributor.

    Raises:
        DeclarationError: when the value is none of these, or a parameter of the function is not one of a run.
    """
    if isinstance(value, PromptContributor):
        return value
    if not isinstance(value, type):
        if isinstance(value, SupportsContribution):
            return ObjectContributor(value)
        if callable(value):
            return FunctionContributor(value, _read_parameters(value))
    problem = (
        "a prompt contributor is an object such as Persona(...), an object with a method contribution(), or a function "
        "that returns the text"
    )
    if isinstance(value, str):
        problem += "; a text goes into the instructions, as by `with_system_prompt`"
    raise DeclarationError(repr(value), [problem])


def check_reference(value: object) -> LlmReference:
    """Return a value that is a reference.

    Raises:
        DeclarationError: when it is not.
    """
    if isinstance(value, LlmReference):
        return value
    raise DeclarationError(
        repr(value), ["a reference is an object of a subclass of LlmReference, such as Reference(name, description)"]
    )


def split_references(values: Iterable[ToolLike | LlmReference]) -> tuple[list[ToolLike], list[LlmReference]]:
    """Return tools without the references among them, and these references."""
    tools: list[ToolLike] = []
    references: list[LlmReference] = []
    for value in values:
        if isinstance(value, LlmReference):
            references.append(value)
        else:
            tools.append(value)
    return tools, references


async def build_instructions(
    texts: Iterable[str], contributors: Sequence[PromptContributor], context: RunContext
) -> str:
    """Return instructions: the program's texts between the contributions to the beginning and those to the end.

    Directives that hold for the run come last.
    """
    last = [contributor for contributor in contributors if contributor.place == "end"]
    first = [contributor for contributor in contributors if contributor.place != "end"]
    before = [await contributor.contribute(context) for contributor in first]
    after = [await contributor.contribute(context) for contributor in last]
    directives = context.find(ActiveDirectives)
    section = "" if directives is None else directives.write_section()
    return "\n\n".join(filter(None, (*before, *texts, *after, section)))


def _read_parameters(function: Callable[..., object]) -> dict[str, object]:
    name = getattr(function, "__qualname__", repr(function))
    target = function if inspect.isroutine(function) else cast("Callable[..., object]", type(function).__call__)
    hints = resolve_hints(target, {})
    needed = {
        parameter.name: hints.get(parameter.name)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    if unknown := [parameter for parameter, hint in needed.items() if find_run_parameter(hint) is None]:
        problem = "the run does not fill its parameter {!r}: annotate it with RunContext or Blackboard, or leave it out"
        raise DeclarationError(name, [problem.format(parameter) for parameter in unknown])
    return needed


def _check_text(text: object, owner: str) -> str:
    if text is None:
        return ""
    if isinstance(text, str):
        return text
    if inspect.iscoroutine(text):
        text.close()
    raise ConfigurationError(
        f"The prompt contributor {owner} returned {add_article(type(text).__name__)}; it must return a text."
    )
