"""`TaskEnvironment`: what the tasks of a run begin with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from tactician.ensemble.learning.outbox import AT_ONCE, LearningOutbox
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.outcomes import TaskOutcome
from tactician.ensemble.values.task_input import Revision
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.task_reviews import NO_REVIEWS, ReviewSettings
from tactician.frozen import frozen
from tactician.llm import ModelLike


@frozen(enforced=False)
class TaskEnvironment:
    """Beginning that the tasks of a run share.

    Attributes:
        input: the values for templates, and the text of the caller.
        first_ids: ids of the tasks that begin the work: they see the text, and the `entry` if they name no context.
        entry: outputs from outside for these.
        outcomes_by_task: outcomes of tasks outside, such as tasks of earlier phases, by task id.
        earlier: outputs of earlier iterations that tasks see, those with memory scopes as entries of these.
        forgotten: outputs of earlier iterations that no task recalls.
        revisions: revisions of tasks that run again, by task id.
        revision: revision of the first tasks when all of the work is done again.
        reviews: the settings for reviews of tasks inside of others.
        exit: the early end of the ensemble around; `None` for an ensemble itself.
        synthesize: model of the ensemble around that makes agents for tasks without an agent, or `None`.
        outbox: outbox for what the tasks leave for later runs.
    """

    input: EnsembleInput
    first_ids: Collection[str] = ()
    entry: tuple[TaskOutput, ...] = ()
    outcomes_by_task: Mapping[str, TaskOutcome] = field(default_factory=dict)
    earlier: tuple[TaskOutput, ...] = ()
    forgotten: tuple[TaskOutput, ...] = ()
    revisions: Mapping[str, Revision] = field(default_factory=dict)
    revision: Revision | None = None
    reviews: ReviewSettings = NO_REVIEWS
    exit: EarlyExit | None = None
    synthesize: ModelLike | None = None
    outbox: LearningOutbox = AT_ONCE

    def collect_revisions(self) -> Mapping[str, Revision]:
        """Return the revisions of the tasks that run again, by task id, including the first tasks."""
        if self.revision is None:
            return self.revisions
        return {**dict.fromkeys(self.first_ids, self.revision), **self.revisions}

    @property
    def has_ended(self) -> bool:
        """True when a review has ended the ensemble around."""
        return self.exit is not None and self.exit.reason is not None
