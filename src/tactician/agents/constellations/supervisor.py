"""`SupervisorAgent`: an agent that lets others work for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypedDict

from typing_extensions import TypeVar, Unpack

from tactician.agents.agent import Agent
from tactician.conversation import ContextStrategy
from tactician.errors import DeclarationError
from tactician.guardrails import GuardrailLike
from tactician.llm import LanguageModel, LlmOptions
from tactician.loop import Autonomous, Handoff
from tactician.prompts import InstructionSource
from tactician.runs import Runnable
from tactician.tools import RunnableTool, Tool, ToolGroup, ToolLike, snake_case

T_co = TypeVar("T_co", covariant=True, default=str)


class AgentOptions(TypedDict, total=False):
    """What else can be said of an agent; see `Agent`."""

    tool_groups: Sequence[str | ToolGroup]
    handoffs: Sequence[Handoff[object] | Runnable]
    description: str | None
    id: str | None
    input_guardrails: Sequence[GuardrailLike]
    output_guardrails: Sequence[GuardrailLike]
    tool_input_guardrails: Sequence[GuardrailLike]
    tool_output_guardrails: Sequence[GuardrailLike]
    context: ContextStrategy | None
    autonomy: Autonomous | None
    max_turns: int
    max_attempts: int
    max_tool_calls: int | None
    max_tool_output_tokens: int | None
    parallel_tools: bool
    tool_timeout: float | None


class SupervisorAgent(Agent[T_co]):
    """An agent that has workers as tools: `invoke_` and the worker's name, with what the worker is to do.

    A worker sees that request only. Where it fails, the supervisor is told why.

    Args:
        name: how others call it.
        workers: by what they do, those who work for it.
        model: its own model; workers have theirs.
        instructions: what it has to know and do. What its workers do is added.
        tools: what it may use besides.
        output_type: what its answer has to be; text by default.
        options: whatever else an `Agent` takes.

    Raises:
        DeclarationError: when it has no workers, or two tools of the same name.
    """

    def __init__(
        self,
        name: str,
        *,
        workers: Mapping[str, Runnable],
        model: str | LlmOptions | LanguageModel | None = None,
        instructions: str | InstructionSource = "",
        tools: Sequence[ToolLike] = (),
        output_type: type[T_co] | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        if not workers:
            raise DeclarationError(f"SupervisorAgent {name!r}", ["it needs at least one worker"])
        self.workers = dict(workers)
        self.invocations = invocations(workers.items())
        self._framed = partial(leading, workers=self.invocations)
        super().__init__(
            name,
            model=model,
            instructions=instructions,
            tools=(*tools, *self.invocations),
            output_type=output_type,
            **options,
        )

    def __repr__(self) -> str:
        return f"SupervisorAgent({self.name!r})"

    def replace_tools(self, tools: Sequence[ToolLike]) -> None:
        """Gives the supervisor other tools, beside its workers and its handoffs.

        Raises:
            DeclarationError: when one is not declared correctly; then nothing changes.
        """
        super().replace_tools((*tools, *self.invocations))


def invocations(workers: Iterable[tuple[str, Runnable]]) -> tuple[Tool, ...]:
    """Workers, each with what it does, as tools."""
    return tuple(RunnableTool(worker, snake_case(worker.name, "invoke_"), what) for what, worker in workers)


def leading(instructions: str, workers: Sequence[Tool]) -> str:
    """The instructions of an agent that has these tools as workers."""
    listed = "\n".join(f"- {worker.name}: {worker.description}" for worker in workers)
    told = (
        f"These work for you; call them as tools:\n{listed}\n"
        "A worker sees nothing but your request: put all that it has to know into it. Then answer with what they gave."
    )
    return f"{instructions}\n\n{told}" if instructions else told
