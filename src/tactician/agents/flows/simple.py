"""`simple_agent`: a single step as an agent."""

from __future__ import annotations

from typing import Generic, TypeVar

from typing_extensions import TypeForm, override

from tactician.agents.base import BaseRunnable
from tactician.agents.composition import Member
from tactician.agents.flows.steps import Step, StepInput, StepLike, as_step, choose_label, simplify_input
from tactician.agents.results import as_own_result
from tactician.grammar import add_article
from tactician.runs import Input, RunContext, RunResult
from tactician.runs.life.inputs import InputTypes
from tactician.tools.signature import find_caller_namespace

T = TypeVar("T")


class SimpleAgent(BaseRunnable[T], Generic[T]):
    """Single step as an agent; see `simple_agent`."""

    def __init__(self, step: Step[T], returning: TypeForm[T], name: str, description: str) -> None:
        self.output_type = returning
        self.name = name
        self.description = description
        self._step = step

    def __repr__(self) -> str:
        return f"SimpleAgent({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return (Member("step", self._step),)

    @property
    @override
    def input_types(self) -> InputTypes:
        return self._step.find_types(0)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        plain = simplify_input(input)
        return as_own_result(await self._step.run(StepInput((plain,), plain), context=context), context)


def simple_agent(
    returning: TypeForm[T], step: StepLike[T], *, name: str | None = None, description: str | None = None
) -> SimpleAgent[T]:
    """Return an agent with a single step, from its input to an object of a type.

    Args:
        returning: the type of the result.
        step: a function of the input, which it may leave out, or any Runnable; see `StepLike`.
        name: the name; the name of the type by default.
        description: the purpose.

    Raises:
        DeclarationError: when the function needs more than the input.
    """
    label = choose_label(name, returning)
    converted = as_step(step, returning, label, find_caller_namespace(1), most=1)
    return SimpleAgent(converted, returning, label, description or f"gives {add_article(label)}")
