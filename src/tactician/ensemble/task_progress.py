"""Progress of a task in its checkpoint: attempts, steps that are done, and the latest output."""

from __future__ import annotations

from functools import partial

from tactician.ensemble.output_encoding import decode_task_output, encode_task_output
from tactician.ensemble.task_input import Revision
from tactician.ensemble.task_output import TaskOutput
from tactician.runs import Live, RunContext, revive


class TaskProgress:
    """Progress of a task. A step that is done is not done again when the run continues elsewhere.

    Args:
        place: the context whose checkpoint keeps the progress.
        task_id: the id of the task.
        kind: the declared type of the parsed output.
    """

    began: float | None = None
    """The time at which the task started, in this or in an earlier run of the program; `None` before."""
    attempt: int = 1
    """The number of the attempt in this run, from 1."""
    skipped: str | None = None
    """The reason why the task is skipped; `None` when it is not."""
    is_completed: bool = False
    """True when there was a final output before this execution."""
    has_run: bool = False
    """True when an object that the saved output lacks is in the saved run of the agent."""
    _has_draft: bool = False

    def __init__(self, place: RunContext, task_id: str, kind: object) -> None:
        assert place.checkpoint is not None
        self._checkpoint = place.checkpoint
        self._kind = kind
        self._task_id = task_id
        self._place = place
        if data := place.checkpoint.data:
            began, attempt, skipped = data.get("began"), data.get("attempt"), data.get("skipped")
            self.began = began if isinstance(began, float) else None
            self.attempt = attempt if isinstance(attempt, int) else 1
            self.skipped = None if skipped is None else str(skipped)
            self.has_run = data.get("has_run") is True
            self.is_completed = "output" in data
            self._has_draft = "draft" in data

    def begin(self, now: float) -> None:
        """Note the time at which the task starts."""
        self.began = now
        self._checkpoint.set(began=now)

    def create_revision(self, first: Revision | None) -> Revision | None:
        """Return the feedback with which an attempt after the first begins, and the output of the attempt before.

        Args:
            first: the feedback with which the first attempt in this run began, or `None`.
        """
        if (earlier := self.earlier) is None:
            return first
        number = self.attempt + (0 if first is None else first.attempt - 1)
        return Revision(number, str(self._checkpoint.data.get("feedback", "")), earlier.raw)

    @property
    def earlier(self) -> TaskOutput | None:
        """The output of the attempt before; `None` in the first."""
        return None if self.attempt == 1 else self._read("earlier")

    @property
    def draft(self) -> TaskOutput | None:
        """The output of the attempt, which is not final before all later steps are done."""
        return self._read("draft")

    @property
    def output(self) -> TaskOutput | None:
        """The final output; `None` while there is none."""
        return self._read("output")

    def note_run(self, *, has_run: bool) -> None:
        """Note whether the output is that of a saved run, which has the object that the saved output may lack."""
        if has_run is not self.has_run:
            self.has_run = has_run
            self._checkpoint.set(has_run=has_run)

    async def save_draft(self, output: TaskOutput) -> None:
        """Save the output of the attempt."""
        self._has_draft = True
        self._checkpoint.set(draft=self._encode(output, has_run=self.has_run))
        await self._place.save_step("draft", output.task_id, output.raw)

    def keep_output(self, output: TaskOutput) -> None:
        """Keep the final output. The next step that is saved has it."""
        saved = self._encode(output, has_run=self.has_run)
        if self._has_draft:
            self._checkpoint.set(output=saved, draft=None, earlier=None)
        else:
            self._checkpoint.set(output=saved)

    async def save_skip(self, reason: str) -> None:
        """Save that the task is skipped."""
        self.skipped = reason
        self._checkpoint.set(skipped=reason)
        await self._place.save_step("skipped", self._task_id, reason)

    async def begin_attempt(self, output: TaskOutput, feedback: str) -> None:
        """Begin another attempt, with feedback on an output."""
        earlier = self._encode(output, has_run=True)
        self.attempt += 1
        self._checkpoint.set(attempt=self.attempt, feedback=feedback, earlier=earlier, draft=None)
        await self._place.save_step("revision", output.task_id, feedback)

    def is_done(self, step: str) -> bool:
        """Return whether a step is done. The name of a step that each attempt does has the number of the attempt."""
        done = self._checkpoint.data.get("done")
        return isinstance(done, list) and step in done

    async def mark_done(self, step: str) -> None:
        """Save that a step is done."""
        done = self._checkpoint.data.get("done")
        self._checkpoint.set(done=[*(done if isinstance(done, list) else ()), step])
        await self._place.save_step(step, self._task_id)

    def _read(self, key: str) -> TaskOutput | None:
        saved = self._checkpoint.data.get(key)
        return None if saved is None else revive(saved, partial(decode_task_output, kind=self._kind))

    def _encode(self, output: TaskOutput, *, has_run: bool) -> Live[TaskOutput]:
        encode = partial(encode_task_output, kind=self._kind, may_omit=has_run)
        if self._checkpoint.journal is None:
            return Live(output, encode)
        return Live.create(output, encode, is_saved=True)
