"""The terminal: questions that time out take no line from those that follow."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tactician import Ensemble, Review, RunStatus, Task
from tactician.ensemble import ConsoleReviewer
from tactician.runs import PendingRequest, RunContext
from tactician.testing import FakeClock, ScriptedModel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the event loop of Windows cannot watch its input")


class Keyboard:
    """What a person types, line by line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._descriptor, text.encode())

    def close(self) -> None:
        """End the input."""
        os.close(self._descriptor)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    """The keyboard of the standard input."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield Keyboard(writing)


def question(prompt: str) -> PendingRequest:
    """A request for text."""
    return PendingRequest(prompt, "form", prompt)


async def test_lines_are_read_from_the_standard_input(keyboard: Keyboard) -> None:
    ann = ConsoleReviewer()
    keyboard.type("one\r\ntwö\n")
    assert [await ann(question("a")), await ann(question("b"))] == ["one", "twö"]
    keyboard.close()
    assert await ann(question("c")) is None


async def test_a_question_that_is_cancelled_takes_no_line_from_the_next(keyboard: Keyboard) -> None:
    ann = ConsoleReviewer()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ann(question("old")), 0)
    keyboard.type("new\n")
    assert await ann(question("new")) == "new"
    keyboard.close()


async def test_two_reviewers_at_a_terminal_ask_in_turn(keyboard: Keyboard, capsys: pytest.CaptureFixture[str]) -> None:
    ann, bob = ConsoleReviewer(), ConsoleReviewer()
    asked = asyncio.gather(ann(question("for Ann")), bob(question("for Bob")))
    await asyncio.sleep(0)
    assert "for Bob" not in capsys.readouterr().out
    keyboard.type("Ann\nBob\n")
    assert list(await asked) == ["Ann", "Bob"]
    keyboard.close()


async def test_no_thread_is_left_reading(keyboard: Keyboard) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ConsoleReviewer()(question("old")), 0)
    keyboard.type("for the program\n")
    assert sys.stdin.readline() == "for the program\n"
    keyboard.close()


async def test_a_review_that_times_out_at_the_terminal_takes_its_action(keyboard: Keyboard) -> None:
    clock = FakeClock()
    task = Task("Write", handler=lambda _: "x", review=Review.after(timeout=60, on_timeout="continue"))
    running = asyncio.create_task(
        Ensemble("E", [task], reviewer=ConsoleReviewer()).run(context=RunContext.over(ScriptedModel(), clock=clock))
    )
    for _ in range(20):
        await asyncio.sleep(0)
    clock.advance(61)
    result = await running
    assert (result.status, result.raw) == (RunStatus.COMPLETED, "x")
    keyboard.close()


async def test_a_file_can_be_the_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = tmp_path / "answers"
    answers.write_text("one\ntwo")
    with answers.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        ann = ConsoleReviewer()
        assert [await ann(question("a")), await ann(question("b")), await ann(question("c"))] == ["one", "two", None]


async def test_a_function_of_the_program_may_read_the_lines_and_be_async() -> None:
    async def read(prompt: str) -> str:
        return f"after {prompt}"

    assert await ConsoleReviewer(read=read)(question("a")) == "after > "
