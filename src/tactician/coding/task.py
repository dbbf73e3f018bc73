"""Tasks for coding agents: fix, implement, refactor, review and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tactician.ensemble import Task
from tactician.errors import DeclarationError
from tactician.suggestions import suggest_options

CodingTaskKind: TypeAlias = Literal["fix", "implement", "refactor", "review", "test"]
_WORK: Final[dict[CodingTaskKind, str]] = {
    "fix": (
        "Fix this bug. Find its cause, write a test that fails because of it if needed, mend the cause and not the "
        "symptom, and run the tests."
    ),
    "implement": (
        "Implement this. Look at how similar things are done in the repository, write the code with tests for it, and "
        "run the tests."
    ),
    "refactor": (
        "Refactor this without a change of behaviour. Run the tests before and after, find all uses of what you "
        "change, and change them too."
    ),
    "review": (
        "Review this, and change nothing. Look for mistakes, missing tests, unclear names and risks. Name the file and "
        "the line of each finding, the most important first."
    ),
    "test": (
        "Write tests for this. Look at how the tests of the repository are written, cover the usual cases and the "
        "limits, see each test pass, and see that it fails when the code is wrong."
    ),
}
_MAX_TOOL_CALLS: Final = 1_000
"""Number of calls for an agent without a limit of its own: its turns are limited."""
_EXPECTED: Final[dict[CodingTaskKind, str]] = {
    "fix": "What was wrong, what you changed and why, and which tests show it.",
    "implement": "What you added, where, and which tests show that it works.",
    "refactor": "What you changed, and why the behaviour is the same.",
    "review": "A list of findings with file, line, reason and advice; or that there are no findings.",
    "test": "What the new tests cover, and which mistakes they found.",
}


@suggest_options
@dataclass(frozen=True)
class CodingTask:
    """Task for a coding agent: the input of its run, or a part of an ensemble.

    Attributes:
        kind: the kind of work.
        request: the request in the words of the user.
        expected_output: description of the answer; one that fits the kind, by default.
        agent: the agent that does it in an ensemble; the agent of the ensemble, when `None`.

    Raises:
        DeclarationError: when the request is blank.
    """

    kind: CodingTaskKind
    request: str
    expected_output: str = ""
    agent: object | None = None

    def __post_init__(self) -> None:
        if not self.request.strip():
            raise DeclarationError("CodingTask", ["its request is blank: describe the work"])

    @classmethod
    def fix(cls, request: str, *, expected_output: str = "", agent: object | None = None) -> CodingTask:
        """Return the task to fix a bug."""
        return cls("fix", request, expected_output, agent)

    @classmethod
    def implement(cls, request: str, *, expected_output: str = "", agent: object | None = None) -> CodingTask:
        """Return the task to implement something new."""
        return cls("implement", request, expected_output, agent)

    @classmethod
    def refactor(cls, request: str, *, expected_output: str = "", agent: object | None = None) -> CodingTask:
        """Return the task to refactor without a change of behaviour."""
        return cls("refactor", request, expected_output, agent)

    @classmethod
    def review(cls, request: str, *, expected_output: str = "", agent: object | None = None) -> CodingTask:
        """Return the task to review, and to change nothing."""
        return cls("review", request, expected_output, agent)

    @classmethod
    def test(cls, request: str, *, expected_output: str = "", agent: object | None = None) -> CodingTask:
        """Return the task to write tests."""
        return cls("test", request, expected_output, agent)

    @property
    def content(self) -> str:
        """The task as an agent reads it."""
        return f"{_WORK[self.kind]}\n\n{self.request}\n\nAnswer with: {self._expected}"

    @property
    def _expected(self) -> str:
        return self.expected_output or _EXPECTED[self.kind]

    def as_task(self) -> Task[object]:
        """Return it as a task of an ensemble, whose id is the kind and the request."""
        return Task(
            _escape(f"{_WORK[self.kind]}\n\n{self.request}"),
            id=f"{self.kind}: {self.request}",
            expected_output=_escape(self._expected),
            agent=self.agent,
            max_tool_calls=_MAX_TOOL_CALLS,
        )


def _escape(text: str) -> str:
    """Return a text that has no templates of an ensemble in it: code has many braces."""
    return text.replace("{", "{{").replace("}", "}}")
