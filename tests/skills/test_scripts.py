"""Scripts of skills: in a sandbox where it works, else after an approval."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tactician import Agent, approve, reject
from tactician.errors import DeclarationError
from tactician.llm import ToolResult
from tactician.runs import RunContext, RunStatus
from tactician.skills import ScriptLimits, Skills, is_sandbox_available
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.toolbox import Toolbox

sandboxed = pytest.mark.skipif(
    not is_sandbox_available() and "REQUIRE_SANDBOX" not in os.environ,
    reason="bubblewrap does not work here (apt install bubblewrap; containers may forbid it)",
)


@sandboxed
def test_the_sandbox_is_available() -> None:
    assert is_sandbox_available()


def build(tmp_path: Path, **scripts: str) -> Skills:
    (place := tmp_path / "bills" / "scripts").mkdir(parents=True)
    (place.parent / "SKILL.md").write_text("---\nname: bills\ndescription: x\n---\n")
    for name, text in scripts.items():
        (place / name.replace("__", ".")).write_text(text)
    return Skills("Office", "x").local(place.parent)


async def run(skills: Skills, path: str, *arguments: str, input: str = "") -> ToolResult:
    step = ToolCall("run_script", skill="bills", path=path, arguments=list(arguments), input=input)
    return await Toolbox(skills.tools).answer(step.to_call("1"), RunContext.over(ScriptedModel()))


def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.skills.scripts.is_sandbox_available", lambda: False)


SAY = "import sys\nprint(sys.argv[1], sys.stdin.read())"


@sandboxed
class TestSandbox:
    async def test_a_script_runs_without_an_approval(self, tmp_path: Path) -> None:
        skills = build(tmp_path, say__py=SAY)
        model = ScriptedModel(
            ToolCall("office_run_script", skill="bills", path="scripts/say.py", arguments=["hi"], input="there"), "ok"
        )
        result = await Agent("A", model=model, tools=skills.named_tools).run("go")
        assert result.status is RunStatus.COMPLETED
        assert "hi there" in str(result.messages)

    async def test_shell_scripts_and_first_lines(self, tmp_path: Path) -> None:
        skills = build(tmp_path, a__sh="echo shell $1", b="#!/usr/bin/env bash\necho first line", c="echo")
        assert "shell x" in (await run(skills, "scripts/a.sh", "x")).content
        assert "first line" in (await run(skills, "scripts/b")).content
        assert "must end in .py, .sh or .js" in (await run(skills, "scripts/c")).content

    async def test_it_sees_neither_files_nor_variables_of_this_machine(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_API_KEY", "sk-secret")
        (tmp_path / "secret.txt").write_text("secret")
        text = f"import os\nprint(os.environ, os.path.exists({str(tmp_path)!r}), os.path.exists('/etc/passwd'))"
        content = (await run(build(tmp_path, look__py=text), "scripts/look.py")).content
        assert "sk-secret" not in content
        assert "False False" in content

    @pytest.mark.parametrize("shares", [False, True])
    async def test_no_network_unless_it_is_allowed(self, tmp_path: Path, shares: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            text = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\nprint('connected')"
            skills = build(tmp_path, call__py=text).with_scripts(limits=ScriptLimits(network=shares))
            content = (await run(skills, "scripts/call.py")).content
        assert ("connected" in content) is shares
        assert ("Errno" in content) is not shares

    async def test_it_writes_in_its_own_folder_only(self, tmp_path: Path) -> None:
        skills = build(tmp_path, write__sh="echo x > out.txt && cat out.txt; echo y > /skill/new; ls /skill")
        content = (await run(skills, "scripts/write.sh")).content
        assert "Read-only file system" in content
        assert not (tmp_path / "bills/new").exists()
        kept = skills.with_scripts(folder=tmp_path / "out")
        await run(kept, "scripts/write.sh")
        assert (tmp_path / "out/out.txt").read_text() == "x\n"

    @pytest.mark.parametrize(
        ("text", "limits", "problem"),
        [
            ("while True: pass", ScriptLimits(timeout=0.5), "was killed, as it took longer than 0.5 seconds"),
            ("import time; time.sleep(60)", ScriptLimits(timeout=0.5), "took longer than 0.5 seconds"),
            ("x = bytearray(2_000_000_000)", ScriptLimits(memory=500_000_000), "MemoryError"),
            ("print('x' * 1_000_000)", ScriptLimits(output=1_000), "more bytes"),
            ("open('a', 'wb').write(b'x' * 2_000_000)", ScriptLimits(file_size=1_000_000), "File too large"),
        ],
    )
    async def test_limits(self, tmp_path: Path, text: str, limits: ScriptLimits, problem: str) -> None:
        skills = build(tmp_path, try__py=text).with_scripts(limits=limits)
        assert problem in (await run(skills, "scripts/try.py")).content

    @pytest.mark.parametrize("folder", ["/work", "/tmp", "/dev/shm"])
    async def test_files_in_memory_are_bounded_together(self, tmp_path: Path, folder: str) -> None:
        text = (
            "import os\nwritten = 0\ntry:\n    for number in range(40):\n"
            f"        with open(f'{folder}/{{number}}', 'wb') as file:\n"
            "            written += file.write(bytes(1_000_000))\nexcept OSError as error:\n    print(error)\n"
            "print('megabytes', written // 1_000_000)"
        )
        skills = build(tmp_path, fill__py=text).with_scripts(limits=ScriptLimits(files=20_000_000))
        content = (await run(skills, "scripts/fill.py")).content
        assert "No space left on device" in content
        assert int(content.partition("megabytes ")[2].split("\\")[0]) <= 10

    @pytest.mark.parametrize("folder", ["/", "/dev", "/etc", "/usr", "/proc", "/skill"])
    async def test_nothing_else_can_be_written(self, tmp_path: Path, folder: str) -> None:
        skills = build(tmp_path, write__py=f"import os\nos.mkdir('{folder}/new')\nprint('writ' + 'ten')")
        assert "written" not in (await run(skills, "scripts/write.py")).content

    async def test_memory_of_all_processes_counts(self, tmp_path: Path) -> None:
        text = (
            "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        held = bytearray(100_000_000)\n"
            "        held[::4096] = b'x' * len(held[::4096])\n        time.sleep(60)\ntime.sleep(60)"
        )
        skills = build(tmp_path, grow__py=text).with_scripts(limits=ScriptLimits(memory=300_000_000))
        started = time.monotonic()
        content = (await run(skills, "scripts/grow.py")).content
        assert "'scripts/grow.py' was killed, as it used more than 300,000,000 bytes of memory" in content
        assert time.monotonic() - started < 20

    async def test_files_without_a_folder_count_as_memory(self, tmp_path: Path) -> None:
        text = (
            "import os, time\nfiles = [os.memfd_create(str(number)) for number in range(4)]\n"
            "for file in files:\n    os.write(file, bytes(50_000_000))\ntime.sleep(60)"
        )
        skills = build(tmp_path, hide__py=text).with_scripts(limits=ScriptLimits(memory=150_000_000))
        content = (await run(skills, "scripts/hide.py")).content
        assert "it used more than 150,000,000 bytes of memory" in content

    async def test_the_number_of_processes_is_bounded_for_root_too(self, tmp_path: Path) -> None:
        text = (
            "import os, time\nfor number in range(1500):\n    if os.fork() == 0:\n        os.setsid()\n"
            "        time.sleep(60)\nprint('all of them')\ntime.sleep(60)"
        )
        skills = build(tmp_path, fork__py=text).with_scripts(limits=ScriptLimits(processes=50))
        before = count_processes()
        content = (await run(skills, "scripts/fork.py")).content
        assert "it had more than 50 processes" in content or "Resource temporarily unavailable" in content
        await asyncio.to_thread(wait_until, lambda: count_processes() < before + 40)

    async def test_a_person_may_be_asked_always(self, tmp_path: Path) -> None:
        await ask(build(tmp_path, say__py=SAY).with_scripts("ask"))


def count_processes() -> int:
    return sum(path.name.isdigit() for path in Path("/proc").iterdir())


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def ask(skills: Skills) -> None:
    step = ToolCall("office_run_script", skill="bills", path="scripts/say.py", arguments=["hi"])
    context = RunContext.over(ScriptedModel(step, "ok", step, "no"))
    agent = Agent("A", tools=skills.named_tools)
    waiting = await agent.run("go", context=context)
    assert waiting.status is RunStatus.WAITING
    assert "office_run_script" in waiting.pending[0].prompt
    done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert "hi" in next(message for message in done.messages if isinstance(message, ToolResult)).content
    waiting = await agent.run("go", context=context)
    refused = await agent.resume(waiting.run_id, {waiting.pending[0].id: reject("no")}, context=context)
    assert [message.is_error for message in refused.messages if isinstance(message, ToolResult)] == [True]


async def test_without_a_sandbox_a_script_is_refused_unless_a_person_approves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sandbox(monkeypatch)
    await ask(build(tmp_path, say__py=SAY))


async def test_outside_of_a_sandbox_keys_and_skills_are_out_of_reach_and_limits_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sandbox(monkeypatch)
    monkeypatch.setenv("MY_API_KEY", "sk-secret")
    text = "import os\nprint(os.environ, os.getcwd())\nwhile True: pass"
    skills = build(tmp_path, look__py=text, say__py="import os\nprint(os.environ, os.getcwd())")
    content = (await run(skills, "scripts/say.py")).content
    assert "sk-secret" not in content
    assert str(tmp_path) not in content
    limited = skills.with_scripts(limits=ScriptLimits(timeout=0.5))
    assert "took longer than 0.5 seconds" in (await run(limited, "scripts/look.py")).content


def test_scripts_may_be_switched_off(tmp_path: Path) -> None:
    skills = build(tmp_path, say__py=SAY)
    assert "run_script" in [tool.name for tool in skills.tools]
    assert "run_script" not in [tool.name for tool in skills.with_scripts("never").tools]


def test_skills_without_scripts_have_no_tool_for_them(tmp_path: Path) -> None:
    assert "run_script" not in [tool.name for tool in build(tmp_path).tools]


@pytest.mark.parametrize("path", ["../x.py", "/bin/sh", "scripts/link.py", "scripts/missing.py", "scripts"])
async def test_a_script_is_a_file_of_the_skill(tmp_path: Path, path: str) -> None:
    skills = build(tmp_path, say__py=SAY)
    (tmp_path / "bills/scripts/link.py").symlink_to(tmp_path / "bills/SKILL.md")
    assert (await run(skills, path)).is_error


def test_it_fits_agents(tmp_path: Path) -> None:
    skills = build(tmp_path, say__py=SAY)
    assert next(each.name for each in Agent("A", tools=skills.named_tools).tools) == "office_activate"
    with pytest.raises(DeclarationError):
        Agent("A", tools=[*skills.named_tools, *skills.named_tools])
