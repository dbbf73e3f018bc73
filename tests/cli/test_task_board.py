"""What `tactician run` shows of the tasks of an ensemble: a board in a terminal, else lines."""

from __future__ import annotations

import asyncio
import re
from io import StringIO

import pytest
from rich.console import Console

from tactician import Agent, Ensemble, Phase, PhaseDecision, PhaseReview, Review, RunContext, Task, Workflow, tool
from tactician.cli.console import SafeConsole
from tactician.cli.progress import ProgressView
from tactician.cli.task_board import TaskBoard
from tactician.ensemble import ConsoleReviewer, ReviewDecision, TaskFailedError, TaskInput, TaskStarted
from tactician.runs import PendingRequest, approve
from tactician.testing import FakeClock, ScriptedModel, ToolCall


def view(*, terminal: bool) -> ProgressView:
    """A view on a console, with a clock that stands still."""
    console = SafeConsole(file=StringIO(), width=100, force_terminal=terminal, emoji=False)
    return ProgressView(console, board=TaskBoard(FakeClock()))


def printed(console: Console) -> str:
    """Return all that was printed, without the codes of the terminal."""
    assert isinstance(console.file, StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def last_board(view: ProgressView) -> list[str]:
    """Return the lines of the board as it stands, each without repeated blanks."""
    console = SafeConsole(file=StringIO(), width=100)
    console.print(view.board.draw())
    return [" ".join(line.split()) for line in printed(console).splitlines()]


@tool(needs_approval=True)
async def publish(text: str) -> str:
    """Publish a text."""
    return "published"


def newsroom() -> Ensemble:
    """A task without a model, one that is skipped, one with a model, and one that needs a person."""
    gather = Task("Gather", id="gather", handler=lambda task: "facts")
    never = Task("Never", id="never", handler=lambda task: "", when=lambda outputs: False)
    write = Task("Write it", id="write", context=[gather])
    press = Task("Publish it", id="press", context=[write], agent=Agent(role="Press", tools=[publish]))
    return Ensemble("Newsroom", [gather, never, write, press])


def script() -> ScriptedModel:
    """The answers of the model."""
    return ScriptedModel("A text.", ToolCall("publish", text="A text."), "Done.")


async def test_without_a_terminal_each_task_has_lines() -> None:
    shown = view(terminal=False)
    context = RunContext.over(script(), shown, clock=FakeClock())
    with shown.watch():
        waiting = await newsroom().run({}, context=context)
    lines = [" ".join(line.split()) for line in printed(shown.console).splitlines()]
    assert lines == [
        "▶ gather (deterministic)",
        "✓ gather 0.0 ms",
        "· never skipped its condition `when` does not hold",
        "▶ write Writer",
        "✓ write 0.0 ms · 15 tokens · price unknown",
        "▶ press Press",
        '? press 0.0 ms · 15 tokens · price unknown May publish({"text":"A text."}) be called?',
    ]
    assert len(waiting.pending) == 1


async def test_reviews_say_what_they_decided_and_why() -> None:
    shown, attempts = view(terminal=False), iter([PhaseDecision.retry("numbers are missing"), PhaseDecision.approve()])
    reviewed = Task("Find", id="find", handler=lambda task: "facts", review=Review.after("Good?"))
    phase = Phase("research", [reviewed], review=PhaseReview(lambda result: next(attempts)))
    news = Ensemble("News", phases=[phase], reviewer=lambda request: ReviewDecision.edit("other facts"))
    with shown.watch():
        await news.run({}, context=RunContext.over(ScriptedModel(), shown, clock=FakeClock()))
    lines = [" ".join(line.split()) for line in printed(shown.console).splitlines()]
    assert lines.count("✓ after find 0.0 ms edited") == 2
    assert "↻ research 0.0 ms once more: numbers are missing" in lines
    assert "✓ research 0.0 ms" in lines
    assert not [line for line in lines if line.startswith("✗")]


async def test_a_terminal_shows_a_board_of_all_tasks() -> None:
    shown = view(terminal=True)
    context = RunContext.over(script(), shown, clock=FakeClock())
    with shown.watch():
        waiting = await newsroom().run({}, context=context)
    assert last_board(shown) == [
        "✓ gather (deterministic) 0.0 ms",
        "· never skipped",
        "its condition `when` does not hold",
        "✓ write Writer 0.0 ms · 15 tokens · price unknown",
        "? press Press 0.0 ms · 15 tokens · price unknown",
        'May publish({"text":"A text."}) be called?',
    ]
    with shown.watch():
        await newsroom().resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert last_board(shown)[-1] == "✓ press Press 0.0 ms · 30 tokens · price unknown"
    assert "✓ write" in printed(shown.console)


async def test_a_board_with_more_tasks_than_lines_leaves_out_what_has_ended_first() -> None:
    shown = view(terminal=True)
    tasks = [Task(f"task {number}", handler=lambda task: "x") for number in range(30)]
    context = RunContext.over(ScriptedModel(), shown, clock=FakeClock())
    with shown.watch():
        await Ensemble("E", tasks).run({}, context=context)
    console = SafeConsole(file=StringIO(), width=100)
    console.print(shown.board.draw(6))
    lines = [line.strip() for line in printed(console).splitlines()]
    assert lines[0] == "… 25 have ended before"
    assert len(lines) == 6
    assert "task 29" in lines[-1]
    assert all(f"task {number} " in printed(shown.console) for number in range(30)), "in the end, all are there"


def draw_lines(view: ProgressView, width: int, lines: int | None = None) -> list[str]:
    """Return the lines of the board on a terminal of this width, as they are."""
    console = SafeConsole(file=StringIO(), width=width)
    console.print(view.board.draw(lines))
    return printed(console).splitlines()


async def test_every_width_shows_which_task_is_in_which_state() -> None:
    def fail(task: TaskInput) -> str:
        raise ConnectionError("the press is \x1b[31m down, and nobody knows when it will be repaired")

    shown = view(terminal=False)
    tasks = [Task("Gather facts", agent=Agent(role="Researcher")), Task("Print \x1b[2J \u202e it", handler=fail)]
    with pytest.raises(TaskFailedError):
        await Ensemble("E", tasks).run({}, context=RunContext.over(ScriptedModel("x"), shown, clock=FakeClock()))
    for width in (200, 100, 80, 60, 40, 30, 20, 12, 8):
        lines = draw_lines(shown, width)
        assert [line[:5] for line in lines] == ["✓ Gat", "✗ Pri", "  Con"], width
        assert max(map(len, lines)) <= width
    assert draw_lines(shown, 60)[0].rstrip().endswith("15 tokens · price unknown")
    assert draw_lines(shown, 30)[0].split() == ["✓", "Gather", "facts"]


async def test_a_board_whose_tasks_all_go_on_says_how_many_there_is_no_room_for() -> None:
    started, release, names = asyncio.Event(), asyncio.Event(), list[str]()

    async def wait(task: TaskInput) -> str:
        names.append(task.task_id)
        if len(names) == 30:
            started.set()
        await release.wait()
        return "x"

    shown = view(terminal=False)
    tasks = [Task(f"task {number}", handler=wait) for number in range(30)]
    ensemble = Ensemble("E", tasks, workflow=Workflow.PARALLEL)
    run = asyncio.create_task(ensemble.run({}, context=RunContext.over(ScriptedModel(), shown)))
    await asyncio.wait_for(started.wait(), 30)
    lines = [line.split() for line in draw_lines(shown, 80, 6)]
    assert [line[2] for line in lines[:5]] == ["0", "1", "2", "3", "4"]
    assert lines[5:] == [["…", "and", "25", "more"]]
    release.set()
    await run


async def test_a_review_is_one_row_that_its_decision_ends() -> None:
    async def approve_all(request: PendingRequest) -> ReviewDecision:
        return ReviewDecision.approve()

    shown = view(terminal=False)
    ensemble = Ensemble("E", [Task("a", handler=lambda task: "x", review=Review.after())], reviewer=approve_all)
    await ensemble.run({}, context=RunContext.over(ScriptedModel(), shown, clock=FakeClock()))
    assert last_board(shown) == ["✓ a (deterministic) 0.0 ms", "✓ after a 0.0 ms"]
    assert "None" not in printed(shown.console)


async def test_a_review_that_comes_again_is_another_row() -> None:
    decisions = [ReviewDecision.retry("better"), ReviewDecision.approve()]

    async def answer(request: PendingRequest) -> ReviewDecision:
        return decisions.pop(0)

    shown = view(terminal=False)
    ensemble = Ensemble("E", [Task("a", handler=lambda task: "x", review=Review.after())], reviewer=answer)
    await ensemble.run({}, context=RunContext.over(ScriptedModel(), shown, clock=FakeClock()))
    assert [(row.kind, row.status) for row in shown.board.rows] == [
        ("task", "completed"),
        ("review", "completed"),
        ("review", "completed"),
    ]


async def test_the_board_rests_while_somebody_is_asked_at_the_terminal() -> None:
    shown = view(terminal=True)
    output = shown.console.file
    assert isinstance(output, StringIO)
    asked: list[str] = []

    def is_drawn() -> bool:
        """Return whether the board hides the cursor, as it does while it is drawn."""
        return output.getvalue().count("\x1b[?25l") > output.getvalue().count("\x1b[?25h")

    async def read(prompt: str) -> str:
        shown(TaskStarted(run_id="other", task_id="meanwhile", role=""))
        assert not is_drawn()
        asked.append(prompt)
        return "a"

    async def work(task: TaskInput) -> str:
        assert is_drawn()
        return "x"

    tasks = [Task("first", handler=work, review=Review.after()), Task("second", handler=work)]
    ensemble = Ensemble("E", tasks, reviewer=ConsoleReviewer(read=read, write=shown.console.print))
    with shown.watch():
        await ensemble.run({}, context=RunContext.over(ScriptedModel(), shown))
    assert len(asked) == 1
    assert not is_drawn()
    assert "✓ second" in printed(shown.console)


async def test_a_failed_task_says_why() -> None:
    def fail(task: TaskInput) -> str:
        raise ConnectionError("the press is down")

    shown = view(terminal=True)
    with shown.watch(), pytest.raises(TaskFailedError):
        await Ensemble("E", [Task("a", handler=fail)]).run({}, context=RunContext.over(ScriptedModel(), shown))
    assert last_board(shown)[1] == "ConnectionError: the press is down"
    assert "✗ a" in printed(shown.console)


async def test_a_nested_ensemble_is_inside_its_task() -> None:
    inner = Ensemble("Inner", [Task("Draft", handler=lambda task: "x")])
    shown = view(terminal=False)
    with shown.watch():
        await Ensemble("Outer", [Task("Publish", agent=inner)]).run({}, context=RunContext.over(ScriptedModel(), shown))
    assert [row.depth for row in shown.board.rows] == [0, 1]


async def test_what_a_task_is_called_commands_nothing_on_a_terminal() -> None:
    evil = "[red]a[/red] \x1b[2J \u202e"
    shown = view(terminal=True)
    with shown.watch():
        await Ensemble("E", [Task(evil, handler=lambda task: "x")]).run(
            {}, context=RunContext.over(ScriptedModel(), shown)
        )
    assert isinstance(shown.console.file, StringIO)
    assert "\x1b[2J" not in shown.console.file.getvalue()
    assert "[red]a[/red]" in printed(shown.console)


async def test_an_agent_without_tasks_has_no_board() -> None:
    shown = view(terminal=True)
    with shown.watch():
        await Agent("Host", model=ScriptedModel("Hello.")).run("Hi", context=RunContext.over(ScriptedModel(), shown))
    assert printed(shown.console) == ""
