"""The shell: lines that run agents, talk with them and look at them, from a pipe and from a terminal."""

import asyncio
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from tactician.cli.shell.history import ShellHistory
from tactician.cli.shell.lines import FileLines, TerminalLines
from tactician.errors import MissingExtraError
from tests.cli.support import COMMAND, Done, environment, tactician, written

AGENTS = '''
from typing import Annotated, Literal
from pydantic import BaseModel, Field
from tactician import Agent, Platform, UserInput, achieves_goal, action, planned_agent, tool
from tactician.cli import ShellOption, shell_command
from tactician.process import ask_human
from tactician.testing import ScriptedModel, ToolCall

class Draft(BaseModel):
    text: str

class Feedback(BaseModel):
    mood: Literal["good", "bad"]
    stars: int = Field(ge=1, le=5)

class Printed(BaseModel):
    text: str

@planned_agent(description="Writes about a topic")
class Writer:
    @action
    def draft(self, topic: UserInput) -> Draft:
        return Draft(text=f"about {topic.content}")

    @action
    async def review(self, draft: Draft) -> Feedback:
        return await ask_human(Feedback, f"How is {draft.text!r}?")

    @achieves_goal("a printed text")
    @action
    async def publish(self, draft: Draft, feedback: Feedback) -> Printed:
        return Printed(text=f"{draft.text}: {feedback.stars} stars")

@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay a bill."""
    return f"paid {amount}"

@tool
async def wait() -> str:
    """Wait."""
    import asyncio
    print("waiting now", flush=True)
    await asyncio.sleep(60)
    return "waited"

def script():
    model = ScriptedModel()
    ranking = '[{{"name": "{}", "confidence": {}, "reason": "so it seems"}}, {{"name": "{}", "confidence": 0.1}}]'
    model.when(prompt_contains="unfit").reply(ranking.format("Helper", 0.2, "Writer"))
    model.when(prompt_contains="a printed text").reply('[{"name": "Writer.publish", "confidence": 0.9}]')
    model.when(prompt_contains="How well does each").reply(ranking.format("Helper", 0.8, "Writer"))
    model.when(prompt_contains="paid").reply("It is paid.")
    model.when(prompt_contains="bill").reply(ToolCall("pay", amount=5))
    model.when(prompt_contains="patience").reply(ToolCall("wait"))
    model.when(prompt_contains="").reply("Hello, you.")
    return model

helper = Agent("Helper", tools=[pay, wait], description="Helps")
writer = Writer()

@shell_command
async def bank(
    platform: Platform, id: int = 123, query: Annotated[str, ShellOption("-q", "what they ask")] = "My balance?"
) -> str:
    """Support a customer.

    Args:
        id: customer id
    """
    return f"{id}: {query} ({len(platform.agents)} agents)"

@shell_command(name="grade", aliases=["g"])
def grade_texts(kind: Literal["a", "b"], texts: list[str], *, loudly: bool = False, limit: float) -> str:
    return f"{kind} {texts} {loudly} {limit}"

@shell_command
def fail() -> None:
    raise ValueError("broken")
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    written(folder, AGENTS)
    return folder


@pytest.fixture
def shell(home: Path, tmp_path: Path) -> Callable[..., Done]:
    """Returns a function that gives lines to a shell."""

    def run(*lines: str, store: str = "", history: Path | None = None, agents: str = "agents_here.py") -> Done:
        options = ["--scripted", "--history", str(history or tmp_path / "history")]
        options += ["--store", store] if store else []
        return tactician("shell", agents, *options, cwd=home, input="\n".join((*lines, "")))

    return run


def test_a_line_runs_the_agent_that_a_model_chooses_and_says_how_sure_it_is(shell: Callable[..., Done]) -> None:
    done = shell("x 'hello there'", "execute frogs --agent Writer", "good", "9", "4")
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["Hello, you.", '{"text":"about frogs: 4 stars"}']
    assert "chosen Writer 0.90" not in done.err
    assert "chosen Helper 0.80: so it seems" in done.err
    assert "plan draft → review → publish" in done.err
    assert "input should be less than or equal to 5" in done.err


def test_nothing_runs_when_no_agent_fits(shell: Callable[..., Done]) -> None:
    done = shell("x unfit")
    assert (done.code, done.out) == (1, "")
    assert "error: No agent fits the request with a confidence of 0.6 or more: Helper 0.20" in done.err


def test_the_open_mode_chooses_a_goal(shell: Callable[..., Done]) -> None:
    done = shell("set mode open", "x frogs", "good", "5")
    assert "mode         open" in done.out
    assert "chosen Writer.publish 0.90" in done.err
    assert done.out.endswith('{"text":"about frogs: 5 stars"}\n')
    assert "chosen Writer.publish 0.90" in shell("x frogs -o").err


def test_switches_show_prompts_and_responses(shell: Callable[..., Done]) -> None:
    shown = shell("x hi -a Helper -pr", "x frogs -a Writer --plan", "good", "4").err
    for fact in ("prompt to scripted", "response of ", "1. draft"):
        assert shown.count(fact) == 1
    debugged = shell("x hi -a Helper --debug", "set prompts on", "x hi -a Helper", "set debug on", "fail").err
    for fact in ("TurnStarted:", "prompt to scripted", "in fail"):
        assert debugged.count(fact) == 1


def test_the_last_line_is_repeated_also_after_a_restart(shell: Callable[..., Done], tmp_path: Path) -> None:
    history = tmp_path / "typed"
    assert shell("bank --id 7", "!!", "!! -q Why?", " bank --id 666", history=history).out.splitlines() == [
        "7: My balance? (2 agents)",
        "7: My balance? (2 agents)",
        "7: Why? (2 agents)",
        "666: My balance? (2 agents)",
    ]
    done = shell("!!", "history", history=history)
    assert done.out.splitlines() == ["7: Why? (2 agents)", "bank --id 7", "bank --id 7 -q Why?", "history"]
    assert history.stat().st_mode & 0o077 == 0


def test_functions_of_the_file_are_commands_with_types_and_defaults(shell: Callable[..., Done]) -> None:
    done = shell("bank", "bank 9 'And now?'", "grade b one two --limit=1.5 --loudly", "g a -- -x --limit", "help bank")
    assert done.out.splitlines()[:3] == [
        "123: My balance? (2 agents)",
        "9: And now? (2 agents)",
        "b ['one', 'two'] True 1.5",
    ]
    assert "grade: --limit is missing. Usage: grade KIND TEXTS... [options]" in done.err
    assert "Support a customer." in done.out
    assert re.search(r"--id +customer id 123 by default", done.out)
    assert re.search(r"-q, --query +what they ask", done.out)


MISTAKES = {
    "bank --id x": "bank: --id: 'x': input should be a valid integer",
    "grade c x --limit 1": "grade: KIND: 'c': input should be 'a' or 'b'",
    "grade a x --limit": "grade: --limit takes a value",
    "bank 1 2 3": "bank: '3' is too much; quote text of several words",
    "bank --ib 3": "there is no option --ib. Did you mean '--id'?",
    "exec frogs": "There is no command 'exec'.",
    "x 'hello": "no closing quotation: close it",
    "x hi -a Wrter": "There is no agent 'Wrter'. Did you mean 'Writer'?",
    "fail": "ValueError: broken",
    "show": "There is no run yet",
    "show f00": "There is no run 'f00'",
    "set mode ajar": "The mode is open or closed",
    "actions -a Helper": "Helper is no planned agent",
    "!!": "nothing was typed before",
}


def test_mistakes_are_lines_and_the_next_line_is_carried_out(shell: Callable[..., Done]) -> None:
    done = shell(*reversed(MISTAKES), "bank --id 5")
    assert (done.code, done.out) == (1, "5: My balance? (2 agents)\n")
    errors = [line.removeprefix("error: ") for line in done.err.splitlines()]
    for error, problem in zip(errors, reversed(MISTAKES.values()), strict=True):
        assert problem in error


def test_what_there_is_can_be_listed(shell: Callable[..., Done]) -> None:
    lines = ("help", "agents", "actions", "goals", "conditions", "tools", "models", "plan", "exit", "bank")
    done = shell(*lines)
    assert done.code == 0, done.err
    for fact in ("execute, x", "your commands", "Writes about a topic", "review", "publish", "Pay a bill.", "script"):
        assert fact in done.out
    assert "My balance?" not in done.out, "nothing is carried out after exit"


def test_runs_are_listed_and_shown(shell: Callable[..., Done]) -> None:
    shown = shell("x frogs -a Writer", "good", "4", "runs", "show", "blackboard", "steps")
    for fact in ("completed", "UserInput", "about frogs: 4 stars", "ran publish", "reached publish", "action"):
        assert fact in shown.out


def test_a_run_that_waits_is_answered_after_a_restart(shell: Callable[..., Done], tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    waiting = shell("x frogs -a Writer", store=store)
    assert waiting.code == 0
    assert "It waits. `respond` asks again." in waiting.err
    run = re.search(r"\b[0-9a-f]{16}\b", waiting.err)
    assert run is not None, waiting.err
    page = tmp_path / "page.html"
    lines = ("runs", f"respond {run[0][:6]}", "bad", "2", f"respond {run[0]}", f"kill {run[0]}", f"trace {page}")
    answered = shell(*lines, store=store)
    assert "waiting" in answered.out
    assert '{"text":"about frogs: 2 stars"}\n' in answered.out
    assert "about frogs: 2 stars" in page.read_text("utf-8")
    assert "does not wait for an answer" in answered.err
    assert "cannot be killed: it has completed already" in answered.err


def test_a_conversation_streams_and_asks_for_approvals(shell: Callable[..., Done]) -> None:
    done = shell("chat", "hello", "pay the bill", "y", "", "bank")
    assert done.out.splitlines() == ["Hello, you.", "It is paid.", "123: My balance? (2 agents)"]
    assert 'May pay({"amount":5}) be called?' in done.err


def test_chat_keeps_the_agent_that_fits_the_first_message(shell: Callable[..., Done]) -> None:
    done = shell("chat", "hello", "hello again", "@Writer frogs", "good", "4", "toads", "good", "3", "@ hello", "")
    *first, frogs, toads, last = done.out.splitlines()
    assert [*first, last] == ["Hello, you."] * 3
    assert "frogs: 4 stars" in frogs
    assert "toads: 3 stars" in toads
    assert done.err.count("chosen Helper 0.80") == 2


def test_the_name_of_an_agent_alone_is_no_message(shell: Callable[..., Done]) -> None:
    done = shell("chat", "@Helper", "hello", "")
    assert (done.code, done.out) == (0, "Hello, you.\n"), done.err
    assert "chosen" not in done.err


def test_an_unknown_agent_is_no_message(shell: Callable[..., Done]) -> None:
    done = shell("chat", "@Helpr hello", "@Helper", " @home we say hello", "")
    assert (done.code, done.out) == (1, "Hello, you.\n"), done.err
    assert "There is no agent 'Helpr'. Did you mean 'Helper'? Agents: " in done.err
    assert "To send a message that begins with @, put a space before it." in done.err


def test_documents_are_ingested(shell: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "returns.md").write_text("# Returns\n\nSend the lamp back.\n")
    at = f"--library {tmp_path / 'library.db'}"
    done = shell(f"ingest {tmp_path / 'returns.md'} {at}", f"ingest {tmp_path / 'returns.md'} {at} -r never")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "1 new, 0 changed, 0 unchanged, 0 removed, 0 failed; 1 chunk",
        "0 new, 0 changed, 1 unchanged, 0 removed, 0 failed; 0 chunks",
    ]
    failed = shell(f"ingest {tmp_path / 'gone.md'} {at}", "ingest", "ingest x --refresh often")
    assert failed.code == 1
    assert "PLACES is missing" in failed.err
    assert "REFRESH" in failed.err.upper()


def test_chat_continues_a_conversation_after_a_restart(home: Path, tmp_path: Path) -> None:
    options = ("agents_here.py", "--scripted", "--store", str(tmp_path / "talk.db"), "--id", "mine", "-a", "Helper")
    first = tactician("chat", *options, cwd=home, input="hello\nthe bill\n")
    assert first.out == "Hello, you.\n"
    assert "It waits for your answer." in first.err
    assert "Continue with: tactician chat agents_here.py" in first.err
    again = tactician("chat", *options, cwd=home, input="y\nhello\n")
    assert again.out.splitlines() == ["It is paid.", "It is paid."]
    assert "you: the bill" in again.err


COUNTER = """
from tactician import OperationContext, UserMessage, action, planned_agent
from tactician.agents import Planner
from tactician.conversation import Conversation

@planned_agent(description="Counts messages", planner=Planner.UTILITY)
class Counter:
    @action(trigger=UserMessage, can_rerun=True)
    def count(self, message: UserMessage, conversation: Conversation, context: OperationContext) -> None:
        context.send(f"{len(conversation)}: {message.text}")
"""


def test_actions_that_messages_trigger_talk_in_a_process_that_outlives_the_program(tmp_path: Path) -> None:
    options = (written(tmp_path, COUNTER), "--store", str(tmp_path / "talk.db"), "--id", "mine")
    assert tactician("chat", *options, cwd=tmp_path, input="a\nb\n").out.splitlines() == ["1: a", "3: b"]
    again = tactician("chat", *options, cwd=tmp_path, input="c\n")
    assert again.out == "5: c\n"
    assert "you: b" in again.err


def test_history_keeps_lines_whatever_they_contain(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history"
    history = ShellHistory(path)
    for line in ("x 1", "x 1", " secret", '"quoted', "two\nlines", "ünï\x1b[31m", ""):
        history.add(line)
    assert ShellHistory(path).lines == history.lines == ["x 1", '"quoted', "two\nlines", "ünï\x1b[31m"]
    path.write_text("\n".join(f"x {number}" for number in range(3000)) + "\n", "utf-8")
    assert ShellHistory(path).lines[0] == "x 2000"
    assert len(path.read_text("utf-8").splitlines()) == 1000


def test_without_a_terminal_the_extra_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = FileLines(StringIO("a\nb"))
    assert (lines.ask(""), asyncio.run(lines.read(""))) == ("a", "b")
    with pytest.raises(EOFError):
        lines.ask("")
    monkeypatch.setitem(__import__("sys").modules, "prompt_toolkit", None)
    with pytest.raises(MissingExtraError, match=r"\.\[shell\]"):
        TerminalLines()


async def test_lines_are_edited_and_completed_in_a_terminal() -> None:
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        lines = TerminalLines(["x earlier"], lambda text: [])
        keyboard.send_text("wrong\x01\x0bright\r")
        assert await lines.read("> ") == "right"
        keyboard.send_text("\x10\r")
        assert await lines.read("> ") == "right"
        keyboard.send_text("\x10\x10\r")
        assert await lines.read("> ") == "x earlier"
        keyboard.send_text("\x03")
        with pytest.raises(KeyboardInterrupt):
            await lines.read("> ")
        keyboard.send_text("\x04")
        with pytest.raises(EOFError):
            await lines.read("> ")


class Screen:
    """A shell in a pseudo-terminal."""

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def wait_for(self, text: str) -> None:
        """Reads until the text has come, and forgets what came before it."""
        end = time.monotonic() + 30
        while text not in self.text:
            readable, _, _ = select.select([self._keyboard], [], [], max(0, end - time.monotonic()))
            assert readable, f"{text!r} never came: {self.text!r}"
            self.text += os.read(self._keyboard, 4096).decode(errors="replace")
            if "\x1b[6n" in self.text:  # where the cursor is, a terminal says
                self.text = self.text.replace("\x1b[6n", "")
                self.type("\x1b[1;1R")
        self.text = self.text.partition(text)[2]


@contextmanager
def screen(folder: Path, *arguments: str) -> Iterator[Screen]:
    keyboard, end = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=end,
        stdout=end,
        stderr=end,
        cwd=folder,
        env=environment(TERM="xterm"),
        start_new_session=True,
        preexec_fn=lambda: take_terminal(),
    )
    os.close(end)
    try:
        yield Screen(keyboard)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(keyboard)


def take_terminal() -> None:
    """Makes the terminal that of this process, so that Ctrl-C reaches it."""
    import fcntl
    import signal
    import termios

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_c_cancels_a_run_and_not_the_shell(home: Path, tmp_path: Path) -> None:
    with screen(home, "shell", "agents_here.py", "--scripted", "--history", str(tmp_path / "typed")) as seen:
        seen.wait_for("`help` lists the commands.")
        seen.wait_for("tactician>")
        seen.type("x patience -a Hel\t")
        seen.wait_for("-a Hel")
        seen.wait_for("per")
        seen.type("\r")
        seen.wait_for("waiting now")
        seen.type("\x03")
        seen.wait_for("interrupted")
        seen.wait_for("continues it")
        seen.type("x frogs -a Writer\r")
        seen.wait_for("Mood")
        seen.type("good\r")
        seen.wait_for("Stars")
        seen.type("\x03")
        seen.wait_for("It waits.")
        seen.type("respond\r")
        seen.wait_for("Mood")
        seen.type("good\r")
        seen.wait_for("Stars")
        seen.type("3\r")
        seen.wait_for("about frogs: 3 stars")
        seen.type("x patience -a Helper\r")
        seen.wait_for("waiting now")
        seen.type("\x03")
        seen.wait_for("continues it")
        seen.type("half a line\x03")
        seen.type("exit\r")
