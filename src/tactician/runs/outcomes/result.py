"""Result of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from pydantic_core import to_json
from typing_extensions import TypeVar

from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Message, Usage
from tactician.llm.usage import UsageTally
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.trace import Trace  # not for type checkers alone: pydantic looks for the types of results that it reads

T_co = TypeVar("T_co", covariant=True, default=str)


@dataclass(slots=True)
class RunResult(Generic[T_co]):
    """The result of a run.

    Attributes:
        output: the answer: text, or an object of the output type of the run; `None` while the run waits.
        status: how the run ended. A run that failed raises; its error carries a result with this status. A run that is
            `WAITING` is resumed by `resume(run_id, responses)`.
        messages: the conversation, from the input to the last reply, without the instructions.
        tally: what was used, model by model.
        process_id: the process, if the run was a process.
        run_id: the run's id.
        delegation_path: who handed the work on, outermost first, and last who answered; empty when nobody did.
        related: the results of the others, where several worked on the same input.
        pending: what the run waits for.
        is_cut_off: true when the model broke off its last reply, as it was too long.
        recorded: the trace, when the run was captured.
        artifacts: objects that tools have produced since the run began.
    """

    output: T_co
    status: RunStatus = RunStatus.COMPLETED
    messages: tuple[Message, ...] = ()
    tally: UsageTally = field(default_factory=UsageTally)
    process_id: str | None = None
    run_id: str = ""
    delegation_path: tuple[str, ...] = ()
    related: tuple[RunResult[object], ...] = ()
    pending: tuple[PendingRequest, ...] = ()
    is_cut_off: bool = False
    recorded: Trace | None = field(default=None, compare=False, repr=False)
    artifacts: tuple[object, ...] = field(default=(), compare=False, repr=False)

    @property
    def trace(self) -> Trace:
        """Tree of all that the run did; empty when it was not captured."""
        return self.recorded or Trace()

    @property
    def usage(self) -> Usage:
        """The tokens of all models together, including nested runs."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when the price of a model that was used is not known."""
        return self.usage.cost

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from tactician.diagrams.html import render_card

        usage, cost = self.usage, self.cost
        facts = {
            "output": _write(self.output),
            "by": " → ".join(self.delegation_path),
            "waits for": "\n".join(request.prompt for request in self.pending),
            "tokens": f"{usage.input_tokens:,} in, {usage.output_tokens:,} out, "
            f"{format_count(usage.requests, 'request')}",
            "cost": "" if cost is None else f"${cost:.4f}",
        }
        transcript = "\n\n".join(f"{message.role}: {_say(message)}" for message in self.messages)
        return render_card(f"Run {self.run_id} ({self.status})", facts, details={"messages": transcript})


def _write(output: object) -> str:
    if output is None or isinstance(output, str):
        return output or ""
    return to_json(output, indent=2, fallback=repr).decode()


def _say(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        return "\n".join(
            filter(None, (message.text, *(f"{call.name}({call.arguments})" for call in message.tool_calls)))
        )
    return message.text
