"""What a run gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic

from typing_extensions import TypeVar

from tactician.llm import Message, Usage, UsageTally

T_co = TypeVar("T_co", covariant=True, default=str)


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunResult(Generic[T_co]):
    """The result of a run.

    Attributes:
        output: the answer: text, or an object of the output type that was asked for.
        status: how the run ended. A run that failed raises; its error carries a result with this status.
        messages: the conversation, from the input to the last reply, without the instructions.
        tally: what was used, model by model.
        process_id: the process, when the run was one.
    """

    output: T_co
    status: RunStatus = RunStatus.COMPLETED
    messages: tuple[Message, ...] = ()
    tally: UsageTally = field(default_factory=UsageTally)
    process_id: str | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all models together, those of nested runs included."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when the price of a model that was used is not known."""
        return self.tally.cost
