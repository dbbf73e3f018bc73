"""Files, folders, streams and numbers that are not as they should be: each is a message on a line, or does no harm."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import COMMAND, environment, tactician, written

ECHO = """
from tactician import runnable

async def echo(text: str) -> str:
    return f"echo {text}"

agent = runnable(echo, name="Echo", description="says [/x] it [bold]again")
"""
PLANNED = """
from tactician import UserInput, achieves_goal, action, planned_agent

@planned_agent(description="Greets")
class Greeter:
    @achieves_goal("Greet")
    @action
    def greet(self, user_input: UserInput) -> str:
        return f"Hello, {user_input.content}!"
"""


def test_markup_in_a_description_is_text(tmp_path: Path) -> None:
    done = tactician("agents", written(tmp_path, ECHO))
    assert (done.code, done.err) == (0, "")
    assert "says [/x] it [bold]again" in done.out


def test_markup_in_the_name_of_an_agent_is_text(tmp_path: Path) -> None:
    file, store = written(tmp_path, ECHO.replace('"Echo"', '"E[/x]"')), ("--store", str(tmp_path / "runs.db"))
    assert tactician("run", file, "hi", *store).code == 0
    run = tactician("ps", "--all", "--json", *store).out.split('"id": "')[1].partition('"')[0]
    done = tactician("show", run, "--compare", run, *store)
    assert (done.code, done.err) == (0, "")
    assert f"E[/x] {run}" in done.out


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys\n\nsys.exit('no')", ", line 3: SystemExit: no"),
        ("import broken", ", line 1: SyntaxError: invalid syntax (broken.py, line 4)"),
        (PLANNED + "\n    def __init__(self):\n        raise ValueError('no')", "Greeter(): ValueError: no"),
        ("x = 1\0", ": SyntaxError: source code string cannot contain null bytes"),
    ],
    ids=["an exit", "an exit with words", "a mistake elsewhere", "an agent that cannot be created", "a NUL"],
)
def test_a_file_that_cannot_be_loaded_is_a_message(source: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\n\n\ndef (:\n", encoding="utf-8")
    done = tactician("agents", written(tmp_path, source))
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert message in done.err
    assert "Traceback" not in done.err
    assert "None" not in done.err


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_a_trace_into_a_folder_that_is_not_there_is_a_message(option: str, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "runs.db"))
    assert tactician("run", written(tmp_path, PLANNED), "Ada", *store).code == 0
    run = tactician("ps", "--all", "--json", *store).out.split('"id": "')[1].partition('"')[0]
    done = tactician("trace", run, option, "nowhere/run.out", *store)
    assert (done.code, done.err) == (2, "error: nowhere/run.out: No such file or directory\n")


def test_a_picture_into_a_folder_that_is_not_there_is_a_message(tmp_path: Path) -> None:
    done = tactician("plan", written(tmp_path, PLANNED), "--picture", "nowhere/search.svg")
    assert (done.code, done.err) == (2, "error: nowhere/search.svg: No such file or directory\n")


def test_a_picture_is_of_a_single_agent(tmp_path: Path) -> None:
    file = written(tmp_path, PLANNED + PLANNED.replace("Greeter", "Other"))
    done = tactician("plan", file, "--picture", str(tmp_path / "search.svg"))
    assert done.code == 2
    assert "several agents: Greeter, Other. Choose with --agent NAME." in done.err
    assert tactician("plan", file, "--agent", "Other", "--picture", str(tmp_path / "search.svg")).code == 0
    assert (tmp_path / "search.svg").read_text("utf-8").startswith("<svg ")


def test_the_number_of_runs_has_a_limit(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "runs.db"))
    assert tactician("run", written(tmp_path, ECHO), "hi", *store).code == 0
    for options in ((), ("--json",)):
        done = tactician("ps", "--all", "--limit", "99999999999999999999", *options, *store)
        assert done.code == 2
        assert "Traceback" not in done.err


def test_a_closed_standard_input_is_no_terminal(tmp_path: Path) -> None:
    file = written(tmp_path, ECHO)
    done = _run_closed(["run", file, "hi"], tmp_path)
    assert (done.returncode, done.stdout) == (0, b"echo hi\n"), done.stderr
    for command in ("chat", "shell"):
        done = _run_closed([command, file], tmp_path)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr


def _run_closed(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(HOME=str(folder)),
        preexec_fn=lambda: os.close(0),
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_text_that_the_output_cannot_have_is_escaped(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", written(tmp_path, ECHO), "Grüße"],
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, b"echo Gr\\xfc\\xdfe\n"), done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_a_message(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "run", written(tmp_path, ECHO), "hi"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: No space left on device\n")
    assert b"Traceback" not in done.stderr


def test_a_history_that_cannot_be_read_keeps_nobody_from_the_shell(tmp_path: Path) -> None:
    loop = tmp_path / "history"
    loop.symlink_to(loop)
    done = tactician("shell", written(tmp_path, ECHO), "--history", str(loop), input="x hi\n")
    assert (done.code, done.out) == (0, "echo hi\n"), done.err


def test_the_chat_says_by_its_exit_code_that_a_message_failed(tmp_path: Path) -> None:
    file = written(tmp_path, ECHO.replace("return", "if 'boom' in str(text): raise ValueError('boom')\n    return"))
    assert tactician("chat", file, input="hi\n").code == 0
    done = tactician("chat", file, input="boom\nhi\n")
    assert done.code == 1
    assert "error: ValueError: boom" in done.err
    assert "echo" in done.out


@pytest.mark.parametrize(
    "command", [("serve", "FILE", "--port"), ("a2a", "serve", "FILE", "--port"), ("mcp", "serve", "FILE", "--http")]
)
def test_a_port_that_another_program_uses_is_a_message(command: tuple[str, ...], tmp_path: Path) -> None:
    file = written(tmp_path, ECHO)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = tactician(*(file if word == "FILE" else word for word in command), port)
    assert done.code == 2
    assert f"error: 127.0.0.1:{port} cannot be used: Address already in use. Choose another port or host.\n" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TACTICIAN_MCP_TOKEN": "short"}, "A token must have at least 16 characters."),
        ({"TACTICIAN_MCP_SECRET": "short"}, "The secret of an MCP server must have at least 32 characters"),
    ],
)
def test_a_short_secret_of_an_mcp_server_is_a_message(variables: dict[str, str], message: str, tmp_path: Path) -> None:
    done = tactician("mcp", "serve", written(tmp_path, ECHO), "--http", "8000", env=variables)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert message in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("worker", "FILE"),
        ("serve", "FILE", "--port", "0"),
        ("a2a", "serve", "FILE", "--port", "18000"),
        ("mcp", "serve", "FILE"),
        ("shell", "FILE"),
        ("chat", "FILE"),
        ("run", "FILE", "hello"),
        ("ps",),
    ],
    ids=lambda command: command[0],
)
def test_a_file_that_is_no_store_is_a_message_at_the_start(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada, " * 100, encoding="utf-8")
    file = written(tmp_path, ECHO)
    words = (file if word == "FILE" else word for word in command)
    done = tactician(*words, "--store", "letter.txt", cwd=tmp_path)
    assert (done.code, done.out, "Traceback" in done.err) == (2, "", False)
    assert "error: letter.txt: this file is not an SQLite database." in done.err


def test_a_token_belongs_to_a_single_person(tmp_path: Path) -> None:
    people = tmp_path / "people.yaml"
    people.write_text("people: [{name: Anna, token: a-token-of-two-people}]", encoding="utf-8")
    token = {"TACTICIAN_TOKEN": "a-token-of-two-people"}
    done = tactician("serve", written(tmp_path, ECHO), "--people", str(people), "--port", "0", env=token)
    assert done.code == 2
    assert done.err == f"error: {people}: Anna has the token in TACTICIAN_TOKEN: use another there\n"


def test_what_continues_a_run_is_quoted_for_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "my agents"
    folder.mkdir()
    file = written(folder, WAITING)
    store = str(folder / "my runs.db")
    done = tactician("run", file, "frogs", "--store", store)
    assert done.code == 3
    assert f"yes '{file}' --store '{store}'" in done.err


WAITING = """
from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.process import confirm

@planned_agent(description="Asks")
class Asking:
    @achieves_goal("asked")
    @action
    async def check(self, user_input: UserInput) -> str:
        return str(await confirm(None, "Print it?"))
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from tactician import Agnet", "Did you mean 'Agent'?"),
        ("import tactician.rag\ntactician.rag.Librari", "has no attribute 'Librari'. Did you mean 'Library'?"),
        ("from tactician import Agent\nAgent('A').run('x').output", "'output'. Its call needs `await`"),
        ("from tactician import Agent\nAgent('A', 'Be brief.')", "Write the rest with names"),
    ],
    ids=["import", "attribute", "await", "position"],
)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_slip_in_a_file_has_a_suggestion(tmp_path: Path, code: str, message: str) -> None:
    file = tmp_path / "slips.py"
    file.write_text(code)

    done = tactician("agents", str(file))

    assert done.code == 2
    assert f"error: {file}, line {code.count(chr(10)) + 1}: " in done.err.replace("\n", "")
    assert message in " ".join(done.err.split())
