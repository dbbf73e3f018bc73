"""`TaskEnvironment`: what the tasks of a run begin with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tactician.ensemble.inputs import EnsembleInput
from tactician.ensemble.output import Revision, TaskOutput


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """What the tasks of a run begin with.

    Attributes:
        input: the values for templates, and the text of the caller.
        first_ids: ids of the tasks that begin the work: they see the text, and the `entry` if they name no context.
        entry: outputs from outside for these.
        given: outputs of tasks outside, by task id, for tasks that name them as their context.
        earlier: outputs of earlier iterations, which all tasks see.
        revisions: what tasks are told that run again, by task id.
    """

    input: EnsembleInput
    first_ids: Collection[str] = ()
    entry: tuple[TaskOutput, ...] = ()
    given: Mapping[str, TaskOutput] = field(default_factory=dict)
    earlier: tuple[TaskOutput, ...] = ()
    revisions: Mapping[str, Revision] = field(default_factory=dict)
