"""The reviewer at the terminal."""

from __future__ import annotations

import pytest

from tactician import Agent, Ensemble, Phase, PhaseReview, Review, ReviewDecision, RunStatus, Task, tool
from tactician.ensemble import AskPerson, ConsoleReviewer, ReviewDecided, TaskInput
from tactician.events import Event
from tactician.runs import PendingRequest
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import over


class Terminal:
    """A person at a terminal, who types these lines."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []

    def read(self, prompt: str) -> str:
        """Return the next line."""
        self.shown.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def reviewer(self, role: str | None = None) -> ConsoleReviewer:
        """The reviewer at this terminal."""
        return ConsoleReviewer(role, "Anna", read=self.read, write=self.shown.append)


def request(**changes: object) -> PendingRequest:
    """A request for text."""
    return PendingRequest("id", "form", "What?", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "decision"),
    [
        (["a"], ReviewDecision("approve")),
        (["what", "APPROVE"], ReviewDecision("approve")),
        (["e", "one", "two", "."], ReviewDecision("edit", text="one\ntwo")),
        (["retry", "bolder"], ReviewDecision("retry", feedback="bolder")),
        (["x"], ReviewDecision("exit_early")),
    ],
)
async def test_a_person_decides_at_the_terminal(lines: list[str], decision: ReviewDecision) -> None:
    terminal, events = Terminal(*lines, "a"), list[Event]()
    model = ScriptedModel("draft", "bolder draft")
    task = Task("Write", role="Writer", review=Review.after("Good?"))
    await Ensemble("E", [task], model=model, reviewer=terminal.reviewer()).run(context=over(None, events.append))
    decided = next(event for event in events if isinstance(event, ReviewDecided))
    assert (decided.decision, decided.feedback, decided.by) == (decision.decision, decision.feedback, "Anna")
    assert terminal.shown[0] == "Good?\n\ndraft"


async def test_what_is_to_be_judged_commands_nothing_on_the_terminal() -> None:
    hostile = "harmless\x1b[2J\x1b[8m \u202e and dangerous\r\x07\n\tsecond line"
    terminal = Terminal("y")
    await terminal.reviewer()(PendingRequest("id", "confirmation", hostile, problem="no \x1b[2J"))
    assert terminal.shown[:2] == [
        "harmless\\x1b[2J\\x1b[8m \\u202e and dangerous\\r\\x07\n\tsecond line",
        "That is not possible: no \\x1b[2J",
    ]


async def test_at_the_end_of_the_input_the_run_waits() -> None:
    task = Task("Write", handler=lambda _: "x", review=Review.after())
    result = await Ensemble("E", [task], reviewer=Terminal().reviewer()).run(context=over())
    assert result.status is RunStatus.WAITING


async def test_a_reviewer_with_the_role_decides_where_one_is_required() -> None:
    task = Task("Write", handler=lambda _: "x", review=Review.after(required_role="editor"))
    ensemble = Ensemble("E", [task], reviewer=Terminal("a").reviewer("editor"))
    assert (await ensemble.run(context=over())).raw == "x"


async def test_tools_are_approved_and_questions_answered_at_the_terminal() -> None:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    calls = [ToolCall("pay", amount=1), ToolCall("pay", amount=2), ToolCall("ask_person", question="Why?")]
    model = ScriptedModel(calls, "done")
    agent = Agent("A", model=model, tools=[pay, AskPerson()], parallel_tools=False)
    terminal = Terminal("maybe", "y", "n", "too much", "Because")
    result = await Ensemble("E", [Task("Pay", agent=agent)], reviewer=terminal.reviewer()).run(context=over())
    assert result.raw == "done"
    prompt = model.calls[1].prompt
    assert all(text in prompt for text in ("paid 1", "rejected: too much", "Because"))


async def test_a_yes_or_no_is_asked_for_until_there_is_one() -> None:
    terminal = Terminal("hm", "yes")
    confirmation = PendingRequest("id", "confirmation", "Sure?", problem="say yes or no")
    assert await terminal.reviewer()(confirmation) is True
    assert terminal.shown[:2] == ["Sure?", "That is not possible: say yes or no"]
    assert await Terminal("text").reviewer()(request(schema={"type": "string"})) == "text"


async def test_a_person_at_the_terminal_decides_on_a_phase() -> None:
    terminal = Terminal("fine", "RETRY: shorter", "APPROVE")

    def write(task: TaskInput) -> str:
        return "draft" if task.revision is None else task.revision.feedback

    phase = Phase("draft", [Task("Write", handler=write)], review=PhaseReview.by_person(prompt="Good?"))
    result = await Ensemble("E", phases=[phase], reviewer=terminal.reviewer()).run(context=over())
    assert result.raw == "shorter"
    assert terminal.shown[0] == "Good?\n\n### (deterministic): Write\n\ndraft"
    assert terminal.shown[1].startswith("answer with APPROVE, RETRY: <feedback>")
    assert [attempt.by for attempt in result.phase_outputs["draft"].review.history] == ["Anna", "Anna"]
