"""Artifacts: results of tools that have a text for the model and an object for the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from tactician.events import Event
from tactician.frozen import frozen
from tactician.runs import RunContext
from tactician.tools.output import ToolOutput
from tactician.tools.tool import as_text

T_co = TypeVar("T_co", covariant=True)


@frozen
class Artifact(Generic[T_co]):
    """Result of a tool: a text for the model, and an object that only the program gets.

    The object goes onto the blackboard of the process around the call, if there is one, to `collect_artifacts`, and to
    the listeners as `ArtifactProduced`.

    Attributes:
        text: the text.
        value: the object.
    """

    text: str
    value: T_co


@frozen(kw_only=True)
class ArtifactProduced(Event):
    """Event of an object that a tool produced for the program."""

    tool: str
    value: object

    def describe(self) -> str:
        """Return which tool produced what."""
        return f"{self.tool} produced a {type(self.value).__name__}"


class ArtifactSink:
    """Receiver of the objects that tools produce, in the surroundings of a run.

    Args:
        receive: function that is called with each object.
        outer: outer receiver, which gets each object too.
    """

    def __init__(self, receive: Callable[[object], object], outer: ArtifactSink | None = None) -> None:
        self._receive = receive
        self._outer = outer

    def receive(self, value: object) -> None:
        """Receive an object."""
        self._receive(value)
        if self._outer is not None:
            self._outer.receive(value)


@contextmanager
def collect_artifacts() -> Iterator[Sequence[object]]:
    """Collect the objects that tools produce in the runs that are started inside a `with` block, in order."""
    run = RunContext.around()
    objects: list[object] = []
    with run.inside({ArtifactSink: ArtifactSink(objects.append, run.find(ArtifactSink))}).enter():
        yield objects


def deliver_result(result: object, tool: str, context: RunContext) -> str | ToolOutput:
    """Return a tool's result for the model, and deliver the object of an artifact to the program.

    Args:
        result: what the tool returned.
        tool: name of the tool.
        context: context of the call.
    """
    if isinstance(result, ToolOutput):
        return result
    if not isinstance(result, Artifact):
        return as_text(result)
    if (sink := context.find(ArtifactSink)) is not None:
        sink.receive(result.value)
    context.emit(ArtifactProduced, tool=tool, value=result.value)
    return as_text(result.text)
