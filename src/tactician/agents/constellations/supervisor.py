"""`SupervisorAgent`: an agent that lets others work for it."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypeVar, Unpack

from tactician.agents.agent import Agent
from tactician.agents.spec import AgentSettings
from tactician.agents.toolboxes import create_worker_tools
from tactician.errors import DeclarationError
from tactician.runs import Runnable

T_co = TypeVar("T_co", covariant=True, default=str)


class SupervisorAgent(Agent[T_co]):
    """An agent that has workers as tools: `invoke_` and the worker's name, with what the worker is to do.

    A worker sees that request only. Where it fails, the supervisor is told why.

    Args:
        name: how others call it.
        workers: by what they do, those who work for it.
        output_type: what its answer has to be; text by default.
        settings: whatever else an `Agent` takes. What its workers do is added to its instructions.

    Raises:
        DeclarationError: when it has no workers, or two tools of the same name.
    """

    def __init__(
        self,
        name: str,
        *,
        workers: Mapping[str, Runnable],
        output_type: type[T_co] | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        if not workers:
            raise DeclarationError(f"SupervisorAgent {name!r}", ["it needs at least one worker"])
        self.workers = dict(workers)
        self._invocations = create_worker_tools(workers.items())
        super().__init__(name, output_type=output_type, **settings)

    def __repr__(self) -> str:
        return f"SupervisorAgent({self.name!r})"
