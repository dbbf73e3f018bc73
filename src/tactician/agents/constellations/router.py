"""`RouterAgent`: routes its input to a Runnable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import getitem
from typing import Literal, cast

from typing_extensions import TypeVar, override

from tactician.agents.agent import Agent
from tactician.agents.base import BaseRunnable, find_input_types
from tactician.agents.composition import Member
from tactician.agents.constellations.events import RouteChosen
from tactician.agents.results import as_own_result, create_failed_result
from tactician.errors import DeclarationError
from tactician.llm import LanguageModel, LlmOptions, UserMessage
from tactician.runs import Input, OutputError, RoutingError, RunContext, Runnable, RunResult
from tactician.runs.life.inputs import InputTypes
from tactician.runs.runnable import messages_of, need_member, need_named_members
from tactician.suggestions import suggest_options

T_co = TypeVar("T_co", covariant=True, default=object)
_PROMPT = """Who should deal with the message?
{routes}
0. none of them

The message: "{message}"

Answer with the number only."""


@suggest_options
class RouterAgent(BaseRunnable[T_co]):
    """Router that asks a model once which Runnable should handle the input, and passes the input on unchanged.

    Its output type follows from its routes and its fallback, any of which may give the answer.

    Args:
        name: the name.
        model: the model that chooses; a small and fast model is sufficient.
        routes: the targets, by the descriptions of their work.
        fallback: the target when no route fits.
        description: the purpose; the descriptions of the routes by default.
        instructions: further instructions for the model.

    Raises:
        DeclarationError: when there is no route, or a target is not a Runnable.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str | LlmOptions | LanguageModel | None = None,
        routes: Mapping[str, Runnable[T_co]],
        fallback: Runnable[T_co] | None = None,
        description: str | None = None,
        instructions: str = "",
    ) -> None:
        if not routes:
            raise DeclarationError(f"RouterAgent {name!r}", ["it needs at least one route"])
        need_named_members(f"RouterAgent {name!r}", "routes", routes, example="{'Sales and prices': sales}")
        if fallback is not None:
            need_member(f"RouterAgent {name!r}", "fallback", fallback)
        self.name = name
        self.own_description = description or ""
        self.description = description or "; ".join(routes)
        self.routes = dict(routes)
        self.fallback = fallback
        self._listed = tuple(self.routes.items())
        # Numbers that are known at runtime only make a type for pydantic, and none for mypy.
        numbers = cast("type[int]", getitem(Literal, tuple(range(len(routes) + 1))))
        self.classifier: Agent[int] = Agent(
            f"{name} classifier", model=model, instructions=instructions, output_type=numbers, max_attempts=1
        )

    def __repr__(self) -> str:
        return f"RouterAgent({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        routes = tuple(Member(description, target) for description, target in self.routes.items())
        return routes if self.fallback is None else (*routes, Member("fallback", self.fallback))

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(*self.routes.values(), self.fallback)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        number = await self._parse_route_number(input, context)
        description, target = self._listed[number - 1] if number else ("", self.fallback)
        if target is None:
            raise RoutingError(
                f"{self.name}: no route fits, and there is no fallback. Its routes: {'; '.join(self.routes)}",
                create_failed_result(input, context),
            )
        context.emit(RouteChosen, target=target.name, description=description, fallback=not number)
        result = await target.run(input, context=context)
        path = (self.name, *(result.delegation_path or (target.name,)))
        return replace(as_own_result(result, context), delegation_path=path)

    async def _parse_route_number(self, input: Input, context: RunContext) -> int:
        """Return the number of the chosen route; 0 for none or an invalid answer."""
        prompt = _PROMPT.format(routes=self._format_routes(), message=self._build_message(input, context))
        try:
            return (await self.classifier.run(prompt, context=context.as_internal())).output
        except OutputError:
            return 0

    def _format_routes(self) -> str:
        numbered = enumerate(self._listed, start=1)
        return "\n".join(f"{number}. {target.name} - handles: {what}" for number, (what, target) in numbered)

    def _build_message(self, input: Input, context: RunContext) -> str:
        texts = [message.text for message in messages_of(input) if isinstance(message, UserMessage)]
        if not texts or not texts[-1].strip():
            raise RoutingError(
                f"{self.name}: there is no text from the user to route by", create_failed_result(input, context)
            )
        return texts[-1]
