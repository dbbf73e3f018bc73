"""`TaskEnvironment`: what the tasks of a run begin with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tactician.ensemble.inputs import EnsembleInput
from tactician.ensemble.output import TaskOutput

_NOTHING: Final[Mapping[str, TaskOutput]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """What the tasks of a run begin with.

    Attributes:
        input: the values for templates, and the text of the caller.
        first_ids: ids of the tasks that begin the work: they see the text, and the `entry` if they name no context.
        entry: outputs from outside for these.
        given: outputs of tasks outside, by task id, for tasks that name them as their context.
        earlier: outputs of earlier iterations, which all tasks see.
    """

    input: EnsembleInput
    first_ids: Collection[str] = ()
    entry: tuple[TaskOutput, ...] = ()
    given: Mapping[str, TaskOutput] = _NOTHING
    earlier: tuple[TaskOutput, ...] = ()
