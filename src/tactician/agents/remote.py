"""Task on another machine as a part of a run: it is sent once, followed, answered, and cancelled with the run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final, Protocol, cast
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue

from tactician.clock import Timeout
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import Usage
from tactician.loop import TextReceived
from tactician.runs import Budget, BudgetError, Input, PendingRequest, RunContext, RunError, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Response, Suspended
from tactician.runs.progress.store import RunStore
from tactician.text import escape_controls
from tactician.tools.tool import as_text

_CANCEL_SECONDS: Final = 5.0


@frozen(kw_only=True)
class RemoteMessage:
    """Message to a task on another machine: the input that begins it, or the answer to its question.

    Attributes:
        id: idempotency key: a message that is sent again, by any program that continues the run, has the same.
        input: input of the task; `None` for an answer.
        question: the question, as `RemoteWait.saved`; `None` for the input.
        answer: the answer, as the channel has made it JSON.
        deadline: time by which the run has to end, in seconds since the epoch, if any.
        budget: what is left of the budgets around the task.
    """

    id: str
    input: Input = None
    question: JsonValue = None
    answer: JsonValue = None
    deadline: float | None = None
    budget: Budget = Budget()


@frozen
class RemoteOutput:
    """End of a task that has completed.

    Attributes:
        value: the output.
        saved: the same as JSON, from which the channel restores it.
        usage: what the task used, which counts in the run.
    """

    value: object
    saved: JsonValue
    usage: tuple[Usage, ...] = ()


@frozen
class RemoteWait:
    """Rest of a task that needs something, so that the run waits for it.

    Attributes:
        saved: the question as JSON, of which the channel makes a request.
    """

    saved: JsonValue


class RemoteChannel(Protocol):
    """Way to the machine on which a task is: the messages and the transport of a protocol."""

    @property
    def address(self) -> str:
        """Address of the other machine, for error messages."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds that the task may take each time it is followed; `None` for any time."""
        ...

    def open(self) -> AbstractAsyncContextManager[object]:
        """Return a context manager in which the task is followed and cancelled, such as a connection."""
        ...

    async def follow(self, message: RemoteMessage | None, task: RemoteTask) -> RemoteOutput | RemoteWait:
        """Send the message, if any, and follow the task until it has completed or needs something.

        A channel that does not stay for the result returns a `RemoteWait`, for a request of the kind `"reply"`; see
        `read_reply`.

        Raises:
            RunError: when the task fails, as `task.fail` describes it.
            TransientError: when the other machine cannot be reached.
        """
        ...

    async def cancel(self, task: RemoteTask) -> None:
        """Cancel the task as far as that is possible, without an error."""
        ...

    def create_request(self, question: JsonValue, request_id: str, path: tuple[str, ...]) -> PendingRequest:
        """Return a question as a request of the run, which may have another id, by which the reply comes."""
        ...

    def encode_answer(self, response: Response) -> JsonValue:
        """Return the response to a request as JSON."""
        ...

    async def read_reply(self, question: JsonValue, answer: JsonValue, task: RemoteTask) -> RemoteOutput | None:
        """Return the output, if the answer is the other machine's reply itself; `None` to send the answer there.

        Raises:
            RunError: when the reply says that the task has failed.
        """
        ...

    async def restore_output(self, saved: JsonValue) -> object:
        """Return the output that was saved."""
        ...

    def create_error(self, message: str, result: RunResult[None]) -> RunError:
        """Return the error of a task that has failed."""
        ...


class RemoteTask:
    """Task on another machine, as a run sees it.

    The checkpoint of the run has the id of the task, the open question, and the result: a program that resumes the run
    continues the same task. A message that is sent again has the same id. The task ends with the run's deadline, and is
    cancelled when the run is cancelled or killed; but not when the run is interrupted, and will be resumed.

    Args:
        name: name of the other side.
        channel: way to it.
        context: context of the run.

    Attributes:
        name: the name.
        context: the context.
        input: input of the task, for a channel that sends it again.
    """

    def __init__(self, name: str, channel: RemoteChannel, context: RunContext) -> None:
        assert context.checkpoint is not None
        self.name = name
        self.context = context
        self.input: Input = None
        self._channel = channel
        self._checkpoint = context.checkpoint

    @property
    def id(self) -> str:
        """Id of the task on the other machine; empty until it is known."""
        return str(self._checkpoint.data.get("task") or "")

    @property
    def data(self) -> Mapping[str, object]:
        """Saved state of the task."""
        return self._checkpoint.data

    async def run(self, input: Input) -> RunResult[object]:
        """Send the task, or continue with what is known of it, until it ends or needs something.

        Raises:
            Suspended: when it needs something.
            RunError: when it fails, or takes too long.
            TransientError: when the other machine cannot be reached.
        """
        self.input = input
        if (saved := self._checkpoint.data.get("result")) is not None:
            return self._create_result(await self._channel.restore_output(cast("JsonValue", saved)))
        question = cast("JsonValue", self._checkpoint.data.get("question"))
        message = None
        if question is not None:
            answer = self._find_answer(question)
            if (output := await self._channel.read_reply(question, answer, self)) is not None:
                return await self._complete(output)
            message = self._create_message(f"answer-{self._count_questions()}", question=question, answer=answer)
        elif not self.id:
            message = self._create_message("task", input)
        try:
            async with self._channel.open():
                return await self._follow(message)
        except asyncio.CancelledError:
            await self._cancel_unless_resumed()
            raise

    async def save_id(self, task_id: str, **further: JsonValue) -> None:
        """Save the id of the task once it is known, so that the task is continued and not sent again."""
        if task_id != self.id or any(self.data.get(name) != value for name, value in further.items()):
            self._checkpoint.set(task=task_id, **further)
            await self.context.save_step("remote task", self.name, task_id)

    def receive_text(self, text: str) -> None:
        """Pass on a piece of the task's answer, if anybody reads the answer as it comes."""
        if self.context.streaming:
            self.context.emit(TextReceived, text=text, answer_level=self.context.piece_level)

    def fail(self, problem: str) -> RunError:
        """Return the error of a task with a problem, such as `"no longer exists at the agent"`."""
        task = f"the task {self.id}" if self.id else "the task"
        text = f"{self.name} ({self._channel.address}): {task} {problem}"
        return self._channel.create_error(escape_controls(text), self._create_failure(RunStatus.FAILED))

    def _find_answer(self, question: JsonValue) -> JsonValue:
        """Return the answer to the question that the run has asked.

        Raises:
            Suspended: when there is no answer.
        """
        if (saved := self._checkpoint.data.get("answer")) is None:
            request = self._create_request(question)
            if request.id not in self.context.responses:
                raise Suspended(request)
            saved = self._channel.encode_answer(self.context.responses[request.id])
            self._checkpoint.set(answer=saved)
        return cast("JsonValue", saved)

    def _create_message(
        self, key: str, input: Input = None, question: JsonValue = None, answer: JsonValue = None
    ) -> RemoteMessage:
        meter = self.context.meter
        return RemoteMessage(
            id=str(uuid5(NAMESPACE_URL, f"{self.context.idempotency_key}/{key}")),
            input=input,
            question=question,
            answer=answer,
            deadline=self.context.deadline,
            budget=Budget() if meter is None else meter.left,
        )

    async def _follow(self, message: RemoteMessage | None) -> RunResult[object]:
        try:
            with Timeout(self._find_seconds(), self.context.clock):
                rest = await self._channel.follow(message, self)
        except TimeoutError:
            await self._cancel()
            raise self._create_late_error() from None
        if isinstance(rest, RemoteOutput):
            return await self._complete(rest)
        self._checkpoint.set(question=rest.saved, questions=self._count_questions() + 1, answer=None)
        raise Suspended(self._create_request(rest.saved))

    def _find_seconds(self) -> float | None:
        """Return how long the task is followed: as long as the channel allows, but not beyond the run's deadline."""
        limits = [] if self._channel.timeout is None else [self._channel.timeout]
        if self.context.deadline is not None:
            limits.append(max(0.0, self.context.deadline - self.context.clock.time()))
        return min(limits, default=None)

    def _create_late_error(self) -> RunError:
        if (missed := self.context.find_missed_deadline()) is not None:
            return BudgetError(f"{self.name}: {missed}", self._create_failure(RunStatus.TERMINATED))
        seconds = format_count(self._channel.timeout or 0.0, "second")
        return self.fail(f"has not ended after {seconds}, and was cancelled")

    async def _complete(self, output: RemoteOutput) -> RunResult[object]:
        self._checkpoint.set(result=output.saved, question=None)
        for usage in output.usage:
            self.context.tally.add(usage)
        await self.context.save_step("remote answer", self.name, as_text(output.value))
        return self._create_result(output.value)

    async def _cancel_unless_resumed(self) -> None:
        """Cancel the task, unless the run is saved and will be resumed."""
        if self.context.is_saved:
            record = await RunStore(self.context.store).load_readable(self.context.root_id)
            if record is not None and record.status is not RunStatus.KILLED:
                return
        async with self._channel.open():
            await self._cancel()

    async def _cancel(self) -> None:
        with suppress(TimeoutError), Timeout(_CANCEL_SECONDS, self.context.clock):
            await self._channel.cancel(self)

    def _create_request(self, question: JsonValue) -> PendingRequest:
        return self._channel.create_request(question, self._request_id, self.context.path)

    def _create_result(self, output: object) -> RunResult[object]:
        return RunResult(output, tally=self.context.tally, run_id=self.context.run_id)

    def _create_failure(self, status: RunStatus) -> RunResult[None]:
        return RunResult(None, status, tally=self.context.tally, run_id=self.context.run_id)

    @property
    def _request_id(self) -> str:
        return f"{self._checkpoint.path}/{self._count_questions()}"

    def _count_questions(self) -> int:
        count = self._checkpoint.data.get("questions", 0)
        return count if isinstance(count, int) else 0
