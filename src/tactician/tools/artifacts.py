"""Artifacts: results of tools that have a text for the model and an object for the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Generic, TypeVar

from tactician.events import Event
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.runs import RunContext
from tactician.runs.context.artifacts import ProducedArtifact
from tactician.runs.life.kept_artifacts import deliver_produced
from tactician.tools.attachments import find_attachments
from tactician.tools.tool import ToolOutput, describe_result

T_co = TypeVar("T_co", covariant=True)


@frozen
class Artifact(Generic[T_co]):
    """Result of a tool: a text for the model, and an object that only the program gets.

    The object is in `artifacts` of the result of the run, goes onto the blackboard of the process around the call, if
    there is one, to `collect_artifacts`, and to the listeners as `ArtifactProduced`.

    Attributes:
        text: the text.
        value: the object.
    """

    text: str
    value: T_co


@frozen(kw_only=True)
class ArtifactProduced(Event):
    """Event of an object that a tool produced for the program."""

    content_fields: ClassVar[tuple[str, ...]] = ("value",)

    tool: str
    value: object

    def describe(self) -> str:
        """Return which tool produced what."""
        return f"{self.tool} produced {add_article(type(self.value).__name__)}"


@contextmanager
def collect_artifacts() -> Iterator[Sequence[object]]:
    """Collect the objects that tools produce in the runs that are started inside a `with` block, in order."""
    objects: list[object] = []
    with RunContext.around().inside({}, receive=objects.append).enter():
        yield objects


def deliver_artifact(value: object, tool: str, context: RunContext) -> None:
    """Deliver an object that a tool produced to the program, once the guardrails have accepted the tool's result.

    Args:
        value: the object.
        tool: name of the tool.
        context: context of the call.
    """
    announce = partial(context.emit, ArtifactProduced, tool=tool, value=value)
    deliver_produced(ProducedArtifact(value, announce), context)


def deliver_result(result: object, tool: str, context: RunContext) -> str | ToolOutput:
    """Return a tool's result for the model, and deliver the object of an artifact to the program.

    Args:
        result: what the tool returned.
        tool: name of the tool.
        context: context of the call.

    Raises:
        ToolError: when a picture is not valid or too large, or there are too many.
    """
    if isinstance(result, str):
        return describe_result(result)
    if (shown := find_attachments(result)) is not None:
        return shown
    if not isinstance(result, Artifact):
        return describe_result(result)
    deliver_artifact(result.value, tool, context)
    return describe_result(result.text)
