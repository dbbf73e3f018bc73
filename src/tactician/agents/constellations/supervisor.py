"""`SupervisorAgent`: an agent that delegates to workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from typing_extensions import TypeForm, TypeVar, Unpack

from tactician.agents.agent import Agent
from tactician.agents.spec import AgentSettings
from tactician.agents.toolboxes import create_worker_tools
from tactician.errors import DeclarationError
from tactician.runs import Runnable
from tactician.runs.runnable import need_named_members
from tactician.suggestions import suggest_options

T_co = TypeVar("T_co", covariant=True, default=str)


@suggest_options
class SupervisorAgent(Agent[T_co]):
    """Agent with workers as tools, named `invoke_` and the worker's name, with a `request` as the argument.

    A worker sees that request only. When it fails, the supervisor gets the reason.

    Args:
        name: the name.
        workers: the workers, by the descriptions of their work.
        output_type: the type of the answer; text by default.
        settings: the other arguments of an `Agent`. The descriptions of the workers are added to the instructions.

    Raises:
        DeclarationError: when it has no workers, a worker is not a Runnable, or two tools have the same name.
    """

    @overload
    def __init__(
        self,
        name: str,
        *,
        workers: Mapping[str, Runnable],
        output_type: None = None,
        **settings: Unpack[AgentSettings],
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        *,
        workers: Mapping[str, Runnable],
        output_type: TypeForm[T_co],
        **settings: Unpack[AgentSettings],
    ) -> None: ...

    def __init__(
        self,
        name: str,
        *,
        workers: Mapping[str, Runnable],
        output_type: TypeForm[T_co] | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        if not workers:
            raise DeclarationError(f"SupervisorAgent {name!r}", ["it needs at least one worker"])
        need_named_members(f"SupervisorAgent {name!r}", "workers", workers, example="{'Writes code': coder}")
        self.workers = dict(workers)
        self._invocations = create_worker_tools(workers.items())
        super().__init__(name, output_type=output_type, **settings)

    def __repr__(self) -> str:
        return f"SupervisorAgent({self.name!r})"
