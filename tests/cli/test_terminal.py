"""What needs a terminal or a signal: questions answered by typing, and Ctrl-C."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.support import COMMAND, environment, tactician, written
from tests.cli.test_stored import PAYER, WRITER

SLOW = """
import asyncio
from pathlib import Path
from pydantic import BaseModel
from tactician import Agent, UserInput, achieves_goal, action, planned_agent

class Found(BaseModel):
    text: str

class Answer(BaseModel):
    text: str

@planned_agent(description="Takes its time")
class Slow:
    @action
    def find(self, question: UserInput) -> Found:
        return Found(text=question.content)

    @achieves_goal("answered")
    @action
    async def answer(self, found: Found) -> Answer:
        while not Path("go").exists():
            await asyncio.sleep(0.01)
        return Answer(text="42")
"""

SEEKER = """
import asyncio
from pathlib import Path
from tactician import Agent, tool
from tactician.testing import ScriptedModel, ToolCall

@tool
async def look() -> str:
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return "found"

model = ScriptedModel()
model.when(prompt_contains="found").reply("It is 42.")
model.when(prompt_contains="why").reply(ToolCall("look"))
seeker = Agent("Seeker", model=model, tools=[look])
"""


class Terminal:
    """A command that runs in a terminal."""

    def __init__(self, process: "subprocess.Popen[bytes]", keyboard: int) -> None:
        self._process, self._keyboard = process, keyboard
        self.err = ""

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def wait_for(self, text: str) -> None:
        """Reads stderr until the text has come."""
        assert self._process.stderr is not None
        while text not in self.err:
            readable, _, _ = select.select([self._process.stderr], [], [], 60)
            piece = os.read(self._process.stderr.fileno(), 4096) if readable else b""
            assert piece, f"{text!r} never came: {self.err}"
            self.err += piece.decode(errors="replace")

    def ended(self) -> tuple[int, str]:
        """The exit code and what is on stdout."""
        out, err = self._process.communicate(timeout=30)
        self.err += err.decode()
        return self._process.returncode, out.decode()


def _take_interrupts() -> None:
    """Let the program be interrupted where this process ignores that, as jobs of a script in the background do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def terminal(folder: Path, *arguments: str, store: str = "runs.db") -> Iterator[Terminal]:
    keyboard, end = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(TACTICIAN_STORE=store),
        preexec_fn=_take_interrupts,
    )
    try:
        yield Terminal(process, keyboard)
    finally:
        process.kill()
        process.communicate()
        os.close(keyboard)
        os.close(end)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("serve", "FILE", "--port", "0"), "Serving on http://127.0.0.1:"),
        (("a2a", "serve", "FILE", "--port", "PORT"), "The card is at http://127.0.0.1:"),
        (("mcp", "serve", "FILE", "--http", "PORT"), "MCP ASYNC Server"),
    ],
    ids=["serve", "a2a", "mcp"],
)
def test_ctrl_c_ends_a_server(command: tuple[str, ...], words: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    values = {"FILE": written(tmp_path, PAYER), "PORT": str(port)}
    with terminal(tmp_path, *(values.get(word, word) for word in command)) as seen:
        seen.wait_for(words)
        if "PORT" in command:
            wait_until_it_answers(port)
        seen.interrupt()
        assert seen.ended() == (0, "")
    assert "Traceback" not in seen.err


def wait_until_it_answers(port: int) -> None:
    """Wait until a server answers requests at a port."""
    for _ in range(300):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as asked:
            asked.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            if asked.recv(1):
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody answers at {port}")


def test_run_asks_in_the_terminal_until_the_answer_is_valid(tmp_path: Path) -> None:
    file = written(tmp_path, WRITER)
    with terminal(tmp_path, "run", file, "frogs") as seen:
        seen.type("good\n9\n3\nmaybe\ny\n")
        assert seen.ended() == (0, '{"text":"about frogs: 3 stars"}\n')
    assert "How is 'about frogs'?" in seen.err
    assert "Stars: input should be less than or equal to 5" in seen.err
    assert "answer y or n" in seen.err


def test_an_approval_is_asked_for_in_the_terminal(tmp_path: Path) -> None:
    file = written(tmp_path, PAYER)
    with terminal(tmp_path, "run", file, "the bill") as seen:
        seen.type("n\ntoo much\n")
        assert seen.ended() == (0, "Then not.\n")


def test_ending_the_input_leaves_it_waiting_and_resume_asks_again(tmp_path: Path) -> None:
    file = written(tmp_path, WRITER)
    with terminal(tmp_path, "run", file, "frogs") as seen:
        seen.type("good\n\x04")
        assert seen.ended() == (3, "")
        seen.wait_for("Answer with: tactician respond ")
    process = seen.err.partition("tactician respond ")[2].split()[0]
    with terminal(tmp_path, "resume", process, file) as seen:
        seen.type("2\n1\ny\n")
        assert seen.ended() == (0, '{"text":"about frogs: 1 stars"}\n')


def test_no_input_means_that_nothing_is_asked(tmp_path: Path) -> None:
    with terminal(tmp_path, "run", written(tmp_path, WRITER), "frogs", "--no-input") as seen:
        assert seen.ended()[0] == 3


def test_an_interrupted_question_leaves_it_waiting(tmp_path: Path) -> None:
    with terminal(tmp_path, "run", written(tmp_path, WRITER), "frogs") as seen:
        seen.wait_for("Mood:")
        seen.interrupt()
        assert seen.ended() == (130, "")
    assert "interrupted" in seen.err
    assert "Traceback" not in seen.err
    assert "waiting" in tactician("ps", "--store", "runs.db", cwd=tmp_path).out
    assert f"Resume with: tactician resume {seen.err.split()[3]} " in seen.err


def interrupted(folder: Path, file: str) -> str:
    """The id of a process whose program was interrupted in the middle of an action."""
    with terminal(folder, "run", file, "why") as seen:
        seen.wait_for("▶ answer")
        seen.interrupt()
        assert seen.ended() == (130, "")
    return seen.err.split()[3]


def test_a_process_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    file = written(tmp_path, SLOW)
    process = interrupted(tmp_path, file)
    assert "Slow interrupted" in tactician("show", process, "--store", "runs.db", cwd=tmp_path).out
    assert "interrupted" in tactician("ps", "--store", "runs.db", cwd=tmp_path).out
    (run,) = json.loads(tactician("ps", "--json", "--store", "runs.db", cwd=tmp_path).out)
    assert (run["status"], run["was_interrupted"]) == ("running", True)
    (tmp_path / "go").touch()
    done = tactician("resume", process, file, "--store", "runs.db", cwd=tmp_path)
    assert (done.code, done.out) == (0, '{"text":"42"}\n')
    assert "find" not in done.err


def test_an_interruption_says_how_to_resume_what_ran(tmp_path: Path) -> None:
    file = written(tmp_path, SEEKER)
    with terminal(tmp_path, "run", file, "why") as seen:
        seen.wait_for("look({})")
        seen.interrupt()
        assert seen.ended() == (130, "")
    command = seen.err.partition("Resume with: tactician ")[2].splitlines()[0].split()
    assert command[0] == "resume"

    with terminal(tmp_path, *command) as seen:
        seen.wait_for("look({})")
        seen.interrupt()
        assert seen.ended() == (130, "")
    assert f"Resume with: tactician {' '.join(command)}\n" in seen.err, "it can be interrupted again"
    (tmp_path / "go").touch()
    done = tactician(*command, "--store", "runs.db", cwd=tmp_path)
    assert (done.code, done.out) == (0, "It is 42.\n")


def test_without_a_store_there_is_nothing_to_resume(tmp_path: Path) -> None:
    (tmp_path / "tactician.toml").touch()
    with terminal(tmp_path, "run", written(tmp_path, SEEKER), "why", store="") as seen:
        seen.wait_for("look({})")
        seen.interrupt()
        assert seen.ended() == (130, "")
    assert "Resume" not in seen.err


def test_a_worker_deletes_what_ended_long_ago(tmp_path: Path) -> None:
    file = written(tmp_path, PAYER)
    store = ("--store", "runs.db")
    assert tactician("run", file, "the bill", *store, cwd=tmp_path).code == 3
    (run,) = json.loads(tactician("ps", "--json", *store, cwd=tmp_path).out)
    assert tactician("kill", run["id"], *store, cwd=tmp_path).code == 0
    with terminal(tmp_path, "worker", file, "--retention", "0s") as seen:
        seen.wait_for("works for Payer")
        while json.loads(tactician("ps", "--all", "--json", *store, cwd=tmp_path).out):
            pass
        seen.interrupt()
        assert seen.ended() == (0, "")


def test_a_worker_takes_over_and_finishes_what_it_has_begun_when_interrupted(tmp_path: Path) -> None:
    file = written(tmp_path, SLOW)
    interrupted(tmp_path, file)
    with terminal(tmp_path, "worker", file, "--name", "w1") as seen:
        seen.wait_for("▶ answer")
        seen.interrupt()
        seen.wait_for("finishing what runs")
        (tmp_path / "go").touch()
        assert seen.ended() == (0, "")
    assert "w1 works for Slow" in seen.err
    assert "completed" in tactician("ps", "--all", "--store", "runs.db", cwd=tmp_path).out


def test_a_second_interruption_stops_a_worker_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, SLOW)
    interrupted(tmp_path, file)
    with terminal(tmp_path, "worker", file) as seen:
        seen.wait_for("▶ answer")
        seen.interrupt()
        seen.wait_for("finishing what runs")
        seen.interrupt()
        assert seen.ended() == (130, "")
    assert "Traceback" not in seen.err
    assert "interrupted" in tactician("ps", "--store", "runs.db", cwd=tmp_path).out


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_process_that_a_worker_cannot_take_over_is_one_line(debug: tuple[str, ...], tmp_path: Path) -> None:
    file = written(tmp_path, SLOW)
    process = interrupted(tmp_path, file)
    written(tmp_path, SLOW.replace("Found", "Discovered"))  # of another length, or Python takes what it compiled before
    with terminal(tmp_path, "worker", file, *debug) as seen:
        seen.wait_for("which the agent does not know")
        seen.interrupt()
        assert seen.ended()[0] == 0
    assert f"the run {process} cannot continue" in seen.err
    assert ("Traceback" in seen.err) == bool(debug)


def test_a_worker_continues_an_agent_that_was_interrupted(tmp_path: Path) -> None:
    file = written(tmp_path, SEEKER)
    with terminal(tmp_path, "run", file, "why") as seen:
        seen.wait_for("look({})")
        seen.interrupt()
        assert seen.ended() == (130, "")
    (tmp_path / "go").touch()
    with terminal(tmp_path, "worker", file, "--name", "w1") as seen:
        seen.wait_for("→ found")
        seen.interrupt()
        assert seen.ended() == (0, "")
    assert "w1 works for Seeker" in seen.err
    assert "completed" in tactician("ps", "--all", "--store", "runs.db", cwd=tmp_path).out


def test_what_runs_elsewhere_can_be_killed(tmp_path: Path) -> None:
    with terminal(tmp_path, "run", written(tmp_path, SLOW), "why") as seen:
        seen.wait_for("▶ answer")
        process = seen.err.split()[3]
        assert tactician("kill", process, "--reason", "too slow", "--store", "runs.db", cwd=tmp_path).code == 0
        (tmp_path / "go").touch()
        assert seen.ended() == (1, "")
    assert "Slow was killed: too slow" in seen.err
    shown = tactician("show", process, "--store", "runs.db", cwd=tmp_path).out
    assert "Slow killed" in shown
    assert "too slow" in shown


def test_a_program_that_is_started_in_the_background_can_be_interrupted(tmp_path: Path) -> None:
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with terminal(tmp_path, "run", written(tmp_path, WRITER), "frogs") as seen:
            seen.wait_for("Mood:")
            seen.interrupt()
            assert seen.ended()[0] == 130
    finally:
        signal.signal(signal.SIGINT, usual)
