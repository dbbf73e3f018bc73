"""The voices in which progress is told."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.llm.usage import UsageTally
from tactician.personalities import PERSONALITIES, PLAIN
from tactician.planning import Action, Goal, Plan
from tactician.process import ActionCompleted, ActionStarted, PlanMade, ProcessEnded, ProcessStarted, ProcessStatus

BUILD = Action("build [x]")
EVENTS: list[tuple[Event, list[str]]] = [
    (ProcessStarted(run_id="r", agent="Builder", goals=("house", "shed")), ["Builder", "house, shed"]),
    (PlanMade(run_id="r", plan=Plan(Goal("house", {"done": True}), (BUILD,), (0.0,), 0.0)), ["build [x]"]),
    (ActionStarted(run_id="r", action="build [x]", description="lays bricks"), ["▶ ", "build [x]", "lays bricks"]),
    (
        ActionCompleted(run_id="r", action="build [x]", seconds=1.0, tally=UsageTally(), outputs=("House",)),
        ["✓ ", "build [x]", "→ House", "1.0 s"],
    ),
    (
        ActionCompleted(run_id="r", action="build [x]", seconds=1.0, tally=UsageTally(), error="ValueError: rain"),
        ["✗ ", "build [x]", "1.0 s"],
    ),
    (ProcessEnded(run_id="r", status=ProcessStatus.COMPLETED, seconds=2.0, tally=UsageTally()), ["2.0 s"]),
    (ProcessEnded(run_id="r", status=ProcessStatus.WAITING, seconds=2.0, tally=UsageTally()), ["2.0 s"]),
    (ProcessEnded(run_id="r", status=ProcessStatus.STUCK, seconds=2.0, tally=UsageTally()), ["stuck", "2.0 s"]),
]


def told(name: str) -> list[str]:
    console = Console(file=StringIO(), width=200)
    view = ProgressView(console, voice=find_personality(name))
    for event, _ in EVENTS:
        view(event)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("name", PERSONALITIES)
def test_every_voice_tells_the_same_facts_one_line_each(name: str) -> None:
    lines = told(name)
    assert len(lines) == len(EVENTS)
    for line, (_, facts) in zip(lines, EVENTS, strict=True):
        assert all(fact in line for fact in facts), line


def test_every_voice_is_its_own() -> None:
    spoken = [tuple(told(name)) for name in PERSONALITIES]
    assert len(set(spoken)) == len(PERSONALITIES)


def test_without_a_name_it_is_plain() -> None:
    assert find_personality(None) is find_personality("") is find_personality("plain") is PLAIN


def test_an_unknown_voice_is_an_error_that_names_the_others() -> None:
    with pytest.raises(ConfigurationError, match="There are: plain, starwars, severance, colossus, hitchhiker, mont"):
        find_personality("pirate")


def test_the_project_may_name_the_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text('[platform]\npersonality = "colossus"\n', encoding="utf-8")
    monkeypatch.setenv("TACTICIAN_CONFIG", str(file))
    assert find_personality(None) is PERSONALITIES["colossus"]
    assert find_personality("starwars") is PERSONALITIES["starwars"]
