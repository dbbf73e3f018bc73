"""Questions to people in a run: a reviewer of the program is asked first, and else the run waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from pydantic import JsonValue

from tactician.ensemble.reviews.reviewers import Reviewer, ask_reviewer
from tactician.errors import StoredStateError
from tactician.flow.timeout import StepTimeoutError
from tactician.frozen import frozen
from tactician.llm.model import JsonSchema
from tactician.loop.output import InvalidOutput
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Response, Suspended
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.runs.requests.respondents import find_author

T = TypeVar("T")
_MAX_TRIES: Final = 3
_TIMED_OUT: Final = "timed_out"
"""Field of the default answer of requests. Before their deadline, it is not a valid answer."""


@frozen
class Question(Generic[T]):
    """Question to a person.

    Attributes:
        key: key of its checkpoint; the same when the run continues.
        prompt: the question.
        schema: the JSON schema of the answer.
        read: function that returns the meaning of an answer. It raises `InvalidOutput` for an answer that is not valid.
        encode: function that returns an answer that was read as JSON.
        decode: function that returns the answer that `encode` wrote.
        timeout: seconds to wait; 0 or `None` waits for ever.
        required_role: the role that is needed to answer; `None` for any.
        on_timeout: the effect of no answer in time, as the reviewer reads it.
    """

    key: str
    prompt: str
    schema: JsonSchema
    read: Callable[[Response], T]
    encode: Callable[[T], JsonValue]
    decode: Callable[[object], T]
    timeout: float | None = None
    required_role: str | None = None
    on_timeout: str = ""


@frozen
class PersonAnswer(Generic[T]):
    """Answer to a question.

    Attributes:
        value: the meaning of the answer.
        by: the name of the person who answered, if known.
    """

    value: T
    by: str | None = None


class PersonConsultation(Generic[T]):
    """Question in a run, with its checkpoint.

    The answer is saved before it counts. Without a reviewer that answers, the run waits, and any process that has its
    store may answer. An answer that is not valid is refused, and the run waits on.

    Args:
        question: the question.
        place: the context of the task or phase that the question is about.
        reviewer: function that is asked first.
    """

    __slots__ = ("_place", "_question", "_reviewer")

    def __init__(self, question: Question[T], place: RunContext, reviewer: Reviewer | None) -> None:
        self._question = question
        self._place = place.at(question.key)
        self._reviewer = reviewer

    @property
    def was_asked(self) -> bool:
        """True when the question was asked before, in this or in an earlier run of the program."""
        return "asked" in self._checkpoint.data

    @property
    def is_answered(self) -> bool:
        """True when the question has an answer that is saved, or nobody has answered in time."""
        return "answer" in self._checkpoint.data

    async def ask(self) -> PersonAnswer[T] | None:
        """Return the answer; `None` when nobody has answered in time.

        Raises:
            Suspended: when nobody has answered yet.
            InvalidOutput: when the reviewer gives no valid answer after several tries.
        """
        if self.is_answered:
            return self._restore()
        self._checkpoint.set(asked=True)
        problem: str | None = None
        request_id = self._checkpoint.path
        if request_id in self._place.responses:
            try:
                answer = self._read(self._place.responses[request_id], find_author(self._checkpoint, request_id))
                return await self._save(answer)
            except (InvalidOutput, StoredStateError) as error:
                problem = str(error)
        request = self._create_request(request_id, problem)
        try:
            answer = await self._ask_reviewer(request)
        except StepTimeoutError:
            return await self._save(None)
        if answer is None:
            raise Suspended(request)
        return await self._save(answer)

    async def _ask_reviewer(self, request: PendingRequest) -> PersonAnswer[T] | None:
        """Return the answer of the reviewer; `None` when it does not answer."""
        tries = 0
        while self._reviewer is not None:
            if (answer := await ask_reviewer(self._reviewer, request, self._place)) is None:
                break
            try:
                return PersonAnswer(self._question.read(answer.response), answer.by)
            except InvalidOutput as error:
                if (tries := tries + 1) >= _MAX_TRIES:
                    raise
                request = self._create_request(request.id, str(error))
        return None

    def _read(self, response: Response, by: str | None) -> PersonAnswer[T] | None:
        """Return the meaning of a response; `None` for the default answer of a request that nobody answered in time."""
        is_default = isinstance(response, Mapping) and response.get(_TIMED_OUT) is True
        if not is_default or not self._question.timeout:
            return PersonAnswer(self._question.read(response), by)
        deadline = self._find_deadline()
        if deadline is None or deadline > self._place.clock.time():
            raise InvalidOutput("the deadline has not passed")
        return None

    async def _save(self, answer: PersonAnswer[T] | None) -> PersonAnswer[T] | None:
        question, is_saved = self._question, self._place.is_saved
        value = None if answer is None else Live.create(answer.value, question.encode, is_saved=is_saved)
        by = None if answer is None else answer.by
        self._checkpoint.set(answer=value, by=by)
        detail = "nobody has answered in time" if answer is None else str(question.encode(answer.value))
        await self._place.save_step("review", question.key, detail if by is None else f"{detail}, by {by}")
        return answer

    def _restore(self) -> PersonAnswer[T] | None:
        saved, by = self._checkpoint.data["answer"], self._checkpoint.data.get("by")
        return (
            None
            if saved is None
            else PersonAnswer(revive(saved, self._question.decode), None if by is None else str(by))
        )

    def _create_request(self, request_id: str, problem: str | None) -> PendingRequest:
        question, deadline = self._question, self._find_deadline()
        if deadline is None and question.timeout:
            deadline = self._place.clock.time() + question.timeout
            self._checkpoint.set(deadline=deadline)
        return PendingRequest(
            request_id,
            "form",
            question.prompt,
            path=self._place.path,
            schema=question.schema,
            deadline=deadline,
            default=None if deadline is None else {_TIMED_OUT: True, "then": question.on_timeout},
            problem=problem,
            required_role=question.required_role,
        )

    def _find_deadline(self) -> float | None:
        deadline = self._checkpoint.data.get("deadline")
        return float(deadline) if isinstance(deadline, int | float) else None

    @property
    def _checkpoint(self) -> Checkpoint:
        assert self._place.checkpoint is not None
        return self._place.checkpoint
