"""Questions to reviewers: a function of the program, or whoever answers the waiting run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import JsonValue

from tactician.errors import StoredStateError
from tactician.flow import StepTimeoutError, run_with_timeout
from tactician.frozen import frozen
from tactician.llm import JsonSchema
from tactician.loop import InvalidOutput
from tactician.runs import Checkpoint, Live, PendingRequest, Response, RunContext, Suspended, revive

T = TypeVar("T")
Reviewer: TypeAlias = Callable[[PendingRequest], Response | Awaitable[Response]]
"""Function that answers the requests of a run. It returns `None` for a request that somebody else is to answer.

A request with a required role goes only to a reviewer whose attribute `role` is equal to it.
"""
_MAX_TRIES: Final = 3


@frozen
class Question(Generic[T]):
    """Question to a reviewer.

    Attributes:
        key: key of its checkpoint; the same when the run continues.
        prompt: the question.
        schema: the JSON schema of the answer.
        read: function that returns the meaning of an answer. It raises `InvalidOutput` for an answer that is not valid.
        encode: function that returns an answer that was read as JSON.
        decode: function that returns the answer that `encode` wrote.
        timeout: seconds to wait; 0 or `None` waits for ever.
        on_timeout: function that returns the answer when nobody has answered in time; needed with a timeout.
        required_role: the role that whoever answers must have; any, when `None`.
    """

    key: str
    prompt: str
    schema: JsonSchema
    read: Callable[[Response], T]
    encode: Callable[[T], JsonValue]
    decode: Callable[[object], T]
    timeout: float | None = None
    on_timeout: Callable[[], T] | None = None
    required_role: str | None = None


_TIMED_OUT: Final = {"timed_out": True}
"""Default answer of requests. Before their deadline, it is not a valid answer."""


class ReviewerConsultation(Generic[T]):
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
        """True when the question has an answer that is saved."""
        return "answer" in self._checkpoint.data

    async def ask(self) -> T:
        """Return the answer.

        Raises:
            Suspended: when nobody has answered yet.
            InvalidOutput: when the reviewer gives no valid answer after several tries.
        """
        if (saved := self._checkpoint.data.get("answer")) is not None:
            return revive(saved, self._question.decode)
        self._checkpoint.set(asked=True)
        problem: str | None = None
        request_id = self._checkpoint.path
        if request_id in self._place.responses:
            try:
                return await self._save(self._read(self._place.responses[request_id]))
            except (InvalidOutput, StoredStateError) as error:
                problem = str(error)
        request = self._create_request(request_id, problem)
        if (answer := await self._ask_reviewer(request)) is not None:
            return await self._save(answer)
        raise Suspended(request)

    async def _ask_reviewer(self, request: PendingRequest) -> T | None:
        """Return the answer of the reviewer; `None` when it does not answer."""
        reviewer, clock, on_timeout = self._reviewer, self._place.clock, self._question.on_timeout
        if reviewer is None or not is_admitted(reviewer, request):
            return None
        if request.deadline is None or on_timeout is None:
            return await self._ask_until_valid(reviewer, request)
        left = max(0.0, request.deadline - clock.time())
        try:
            return await run_with_timeout(self._ask_until_valid(reviewer, request), left, clock, "the review")
        except StepTimeoutError:
            return on_timeout()

    async def _ask_until_valid(self, reviewer: Reviewer, request: PendingRequest) -> T | None:
        tries = 0
        while (response := await call_reviewer(reviewer, request)) is not None:
            try:
                return self._read(response)
            except InvalidOutput as error:
                if (tries := tries + 1) >= _MAX_TRIES:
                    raise
                request = self._create_request(request.id, str(error))
        return None

    def _read(self, response: Response) -> T:
        on_timeout = self._question.on_timeout
        if response == _TIMED_OUT and on_timeout is not None:
            deadline = self._find_deadline()
            if deadline is not None and deadline <= self._place.clock.time():
                return on_timeout()
            raise InvalidOutput("the deadline has not passed")
        return self._question.read(response)

    async def _save(self, answer: T) -> T:
        self._checkpoint.set(answer=Live.create(answer, self._question.encode, is_saved=self._place.is_saved))
        await self._place.save_step("review", self._question.key, str(self._question.encode(answer)))
        return answer

    def _create_request(self, request_id: str, problem: str | None) -> PendingRequest:
        question, deadline = self._question, self._find_deadline()
        if deadline is None and question.timeout and question.on_timeout is not None:
            deadline = self._place.clock.time() + question.timeout
            self._checkpoint.set(deadline=deadline)
        return PendingRequest(
            request_id,
            "form",
            question.prompt,
            path=self._place.path,
            schema=question.schema,
            deadline=deadline,
            default=None if deadline is None else dict(_TIMED_OUT),
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


async def call_reviewer(reviewer: Reviewer, request: PendingRequest) -> Response | None:
    """Return the response of a reviewer to a request; `None` when it does not answer."""
    response = reviewer(request)
    return await response if inspect.isawaitable(response) else response


def is_admitted(reviewer: Reviewer, request: PendingRequest) -> bool:
    """Return whether a reviewer has the role that a request requires."""
    return request.required_role is None or getattr(reviewer, "role", None) == request.required_role
