"""Programs run without a shell, with a bounded life, and with an approval."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tactician import Agent, approve, reject
from tactician.errors import ConfigurationError
from tactician.runs import RunStatus
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.tools import run_program
from tests.tools.builtin.support import call, call_json, create_context, refuse

PYTHON = sys.executable
run = run_program.with_approval(False)


def python(code: str, *arguments: str) -> list[str]:
    return [PYTHON, "-S", "-c", code, *arguments]


async def test_a_program_gives_its_outputs_and_its_exit_code() -> None:
    code = "import sys; print('out', *sys.argv[1:]); print('err', file=sys.stderr); sys.exit(3)"
    told = await call_json(run, arguments=python(code, "a b", "c"))
    assert told == {"exit_code": 3, "output": "out a b c\n", "errors": "err\n"}


async def test_a_program_reads_its_input() -> None:
    told = await call_json(
        run, arguments=python("import sys; print(sys.stdin.read().upper())"), input="frög\n" * 50_000
    )
    assert str(told["output"]).startswith("FRÖG\n")


async def test_a_program_that_does_not_read_its_input_is_no_error() -> None:
    told = await call_json(run, arguments=python("import os; os.close(0)"), input="x" * 1_000_000)
    assert told["exit_code"] == 0


@pytest.mark.parametrize(
    "text", ["a; touch made", "$(touch made)", "`touch made`", "a | touch made", "> made", "*", "$HOME", "&& x"]
)
async def test_there_is_no_shell(text: str, tmp_path: Path) -> None:
    told = await call_json(run.within(tmp_path), arguments=python("import sys; print(sys.argv[1], end='')", text))
    assert told["output"] == text
    assert list_names(tmp_path) == []


async def test_a_program_starts_in_its_folder(tmp_path: Path) -> None:
    told = await call_json(run.within(tmp_path), arguments=python("import os; print(os.getcwd(), end='')"))
    assert told["output"] == str(tmp_path)
    with pytest.raises(ConfigurationError, match="is not a folder"):
        await call(run.within(tmp_path / "nowhere"), arguments=["ls"])


async def test_a_program_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("SOME_SETTING", "secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    told = await call_json(run.with_environment({"MINE": "1"}), arguments=python(code))
    known = json.loads(str(told["output"]))
    assert known["MINE"] == "1"
    assert known["PATH"] == os.environ["PATH"]
    assert not {"OPENAI_API_KEY", "SOME_SETTING", "LD_PRELOAD"} & known.keys()
    assert "secret" not in str(told)


def test_no_representation_shows_the_environment() -> None:
    assert "hidden" not in repr(run_program.with_environment({"KEY": "hidden"}))


async def test_more_output_than_the_limit_is_dropped_and_the_program_goes_on() -> None:
    code = "import sys; sys.stdout.write('x' * 3_000_000); sys.stderr.write('end')"
    told = await call_json(run.with_limits(max_output=1_000), arguments=python(code))
    assert told == {"exit_code": 0, "output": f"{'x' * 1_000}\n[cut: 2,999,000 more bytes]", "errors": "end"}


FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
with open("pids", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename("pids", "started")
time.sleep(600)
"""


async def wait_for(path: Path) -> list[int]:
    def read() -> list[int]:
        while not path.exists():
            time.sleep(0.01)
        return [int(pid) for pid in path.read_text().split()]

    return await asyncio.wait_for(asyncio.to_thread(read), 20)


async def assert_gone(pids: list[int]) -> None:
    def wait() -> None:
        while any(map(is_alive, pids)):
            time.sleep(0.01)

    await asyncio.wait_for(asyncio.to_thread(wait), 20)


def list_names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_program_that_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    clock = FakeClock()
    work = asyncio.create_task(refuse(run.within(tmp_path), create_context(clock), arguments=python(FAMILY)))
    pids = await wait_for(tmp_path / "started")
    assert all(map(is_alive, pids))
    clock.advance(60)
    assert "was killed, as it took longer than 60 seconds" in await work
    await assert_gone(pids)


async def test_a_killed_program_is_no_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(12):  # a race, which closing the program's pipes too early loses every second time
        await refuse(run.with_limits(timeout=0.05), arguments=["yes"])
    assert caplog.messages == []


@pytest.mark.parametrize("limits", [{"timeout": 0}, {"timeout": float("nan")}, {"max_output": -1}])
def test_limits_are_checked_when_they_are_set(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=rf"ProgramRunner\.{next(iter(limits))} is"):
        run.with_limits(**limits)


async def test_a_cancelled_program_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    work = asyncio.create_task(call(run.within(tmp_path), arguments=python(FAMILY)))
    pids = await wait_for(tmp_path / "started")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await assert_gone(pids)


async def test_what_a_program_leaves_behind_is_killed(tmp_path: Path) -> None:
    code = FAMILY.replace("time.sleep(600)\n", "print('done')\n")
    told = await call_json(run.within(tmp_path), arguments=python(code))
    assert told["output"] == "done\n"
    await assert_gone(await wait_for(tmp_path / "started"))


async def test_a_program_that_leaves_its_group_does_not_hold_up_the_call(tmp_path: Path) -> None:
    code = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
"""
    told = await call_json(run.within(tmp_path), arguments=python(code))
    pid = int(str(told["output"]))
    assert is_alive(pid)
    os.kill(pid, 9)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "empty"),
        ([""], "empty"),
        (["  "], "empty"),
        (["no-such-program-anywhere"], "cannot be started: No such file"),
        (["/"], "cannot be started"),
        (["echo", "a\0b"], "cannot be started: embedded null byte"),
        (["echo"] * 1_001, "too long"),
        (["echo", "x" * 100_001], "too long"),
    ],
)
async def test_what_cannot_be_started_is_an_error(arguments: list[str], reason: str) -> None:
    assert reason in await refuse(run, arguments=arguments)


async def test_a_line_is_not_a_list_of_arguments() -> None:
    assert "arguments" in await refuse(run, arguments="ls -l")


async def test_a_signal_is_a_negative_exit_code() -> None:
    assert (await call_json(run, arguments=python("import os; os.kill(os.getpid(), 9)")))["exit_code"] == -9


async def test_a_call_waits_for_an_approval(tmp_path: Path) -> None:
    command = python("open('made', 'w').close()")
    model = ScriptedModel(ToolCall("run_program", arguments=command), "made it")
    agent = Agent("Worker", model=model, tools=[run_program.within(tmp_path)])
    waiting = await agent.run("make it")
    assert waiting.status is RunStatus.WAITING
    assert list_names(tmp_path) == []
    assert [request.kind for request in waiting.pending] == ["approval"]
    done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()})
    assert done.output == "made it"
    assert list_names(tmp_path) == ["made"]


async def test_a_rejected_call_does_not_run(tmp_path: Path) -> None:
    model = ScriptedModel(ToolCall("run_program", arguments=python("open('made', 'w').close()")), "well then")
    agent = Agent("Worker", model=model, tools=[run_program.within(tmp_path)])
    waiting = await agent.run("make it")
    done = await agent.resume(waiting.run_id, {waiting.pending[0].id: reject("too dangerous")})
    assert done.output == "well then"
    assert "too dangerous" in str(model.calls[1].messages)
    assert list_names(tmp_path) == []
