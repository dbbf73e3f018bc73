"""Commands in a sandbox, and what test programs print, as results."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.commands.suite_report import parse_report
from tactician.errors import ConfigurationError
from tactician.skills import is_sandbox_available
from tests.coding.support import create_repository, hands, run_git, write
from tests.support.effort import EFFORT

needs_sandbox = pytest.mark.skipif(not is_sandbox_available(), reason="no bubblewrap here")
OUTPUTS = {
    "pytest": (
        "____ test_a ____\ntests/test_a.py:3: in test_a\n    assert 1 == 2\nE   assert 1 == 2\n"
        "PASSED tests/test_a.py::test_b\nFAILED tests/test_a.py::test_a - assert 1 == 2\n",
        (["tests/test_a.py::test_b"], ["tests/test_a.py::test_a"], "tests/test_a.py:3"),
    ),
    "unittest": (
        "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... FAIL\n",
        (["test_a (t.T.test_a)"], ["test_b (t.T.test_b)"], ""),
    ),
    "cargo": (
        "test a::works ... ok\ntest b ... FAILED\n"
        "---- b stdout ----\nthread 'b' panicked at src/lib.rs:9:5:\nleft: 1\n",
        (["a::works"], ["b"], "src/lib.rs:9"),
    ),
    "tap": (
        "ok 1 - adds\nnot ok 2 - subtracts\n  error: 'Expected 1'\n  at a.test.js:5:3\nok 3 - later # SKIP\n",
        (["adds"], ["subtracts"], "a.test.js:5"),
    ),
    "node": (
        "✔ adds (0.5ms)\n✖ subtracts (1ms)\n✖ failing tests:\n"
        "✖ subtracts (1ms)\n  AssertionError: 1 !== 2\n  at a.js:4:1\n",
        (["adds"], ["subtracts"], "a.js:4"),
    ),
    "jest": ("PASS src/a.test.ts\nFAIL src/b.test.ts (5 ms)\n", (["src/a.test.ts"], ["src/b.test.ts"], "")),
    "ctest": (
        "1/2 Test #1: add .......   Passed    0.01 sec\n2/2 Test #2: sub .......***Failed    0.01 sec\n",
        (["add"], ["sub"], ""),
    ),
    "surefire": (
        "[ERROR] shop.CartTest.total -- Time elapsed: 0.01 s <<< FAILURE!\n"
        "org.x.AssertionError: no\n\tat CartTest.java:9)\n",
        ([], ["shop.CartTest.total"], "CartTest.java:9"),
    ),
    "automake": ("PASS: add\nFAIL: sub\n", (["add"], ["sub"], "")),
    "unity": ("t.c:4:test_add:PASS\nt.c:9:test_sub:FAIL: Expected 1\n", (["test_add"], ["test_sub"], "")),
    "dotnet": ("  Passed Shop.Adds [3 ms]\n  Failed Shop.Subs [4 ms]\n", (["Shop.Adds"], ["Shop.Subs"], "")),
    "gradle": (
        "CartTest > total() PASSED\nCartTest > sum() FAILED\n",
        (["CartTest > total()"], ["CartTest > sum()"], ""),
    ),
    "rspec": ("rspec ./spec/a_spec.rb:4 # A adds\n", ([], ["./spec/a_spec.rb:4"], "")),
    "phpunit": ("1) Shop\\CartTest::testTotal\nFailed asserting\n", ([], ["Shop\\CartTest::testTotal"], "")),
    "go": (
        '{"Action":"pass","Package":"m","Test":"TestA"}\n'
        '{"Action":"output","Package":"m","Test":"TestB","Output":"    m_test.go:9: got 1\\n"}\n'
        '{"Action":"fail","Package":"m","Test":"TestB"}\n{"Action":"fail","Package":"m"}\n',
        (["m.TestA"], ["m.TestB"], "m_test.go:9"),
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_results_are_read_from_what_test_programs_print(name: str) -> None:
    output, (passed, failed, place) = OUTPUTS[name]
    report = parse_report(f"\x1b[31mstarting\x1b[0m\n{output}", 1)
    assert (list(report.passed), list(report.failed)) == (passed, failed)
    assert report.failures[0].place == place


def test_a_program_that_names_no_test_fails_as_a_whole() -> None:
    report = parse_report("m.c:3:1: error: unknown type name\n", 2, "make test")
    assert (report.failed, report.failures[0].place) == (("make test",), "m.c:3")
    assert "unknown type" in report.describe()
    assert parse_report("all good\n", 0, "make test").failed == ()


@needs_sandbox
async def test_commands_run_in_a_sandbox(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"a.txt": "one\n"})
    run_git(repo, "config", "remote.origin.url", "https://user:hunter2@example.com/x")
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    commands = {
        "pwd; cat a.txt; echo new > b.txt": "one",
        f"cat {secret}": "No such file",
        "cat .git/config; git log --oneline": "first",
        "echo x > .git/hooks/pre-commit": "Read-only",
        "echo x > /etc/x": "Read-only",
        "curl -sS http://127.0.0.1 || python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53))'": "rror",
        "env": "HOME=",
        "exit 3": "[exit code 3]",
        "for i in $(seq 5000); do echo line $i; done": "characters are left out",
    }
    with hands(repo, tmp_path / "state") as agent:
        for command, expected in commands.items():
            answer = await agent.call("shell", command=command)
            assert expected in answer, (command, answer)
            assert "hunter2" not in answer
        assert "not a folder in the workspace" in await agent.call("shell", command="ls", folder="..")
    assert (repo / "b.txt").read_text() == "new\n"
    assert not (repo / ".git/hooks/pre-commit").exists()


@needs_sandbox
async def test_a_command_is_killed_when_it_takes_too_long(tmp_path: Path) -> None:
    with hands(write(tmp_path / "repo", {}), tmp_path / "state", timeout=0.3) as agent:
        assert "took longer than 0.3 seconds" in await agent.call("shell", command="sleep 60 & sleep 60")


def test_without_a_sandbox_each_command_needs_an_approval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.coding.commands.policy.is_sandbox_available", lambda: False)
    policy = CommandPolicy()
    assert (policy.needs_approval, policy.uses_sandbox, policy.may_measure) == (True, False, False)
    assert CommandPolicy(mode="trusted").may_measure
    assert not CommandPolicy(mode="trusted").needs_approval


PROJECTS = {
    "python": (
        {
            "pyproject.toml": "",
            "m.py": "def add(a, b):\n    return a - b\n",
            "test_m.py": "from m import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
            "def test_same():\n    assert add(0, 0) == 0\n",
        },
        ("test_m.py::test_add", "test_m.py::test_same", "test_m.py:5"),
    ),
    "node": (
        {
            "package.json": '{"scripts": {"test": "node --test"}}',
            "m.js": "exports.add = (a, b) => a - b\n",
            "m.test.js": "const { test } = require('node:test')\nconst assert = require('node:assert')\n"
            "const { add } = require('./m')\ntest('adds', () => assert.strictEqual(add(1, 2), 3))\n"
            "test('zero', () => assert.strictEqual(add(0, 0), 0))\n",
        },
        ("adds", "zero", "m.test.js:4"),
    ),
    "go": (
        {
            "go.mod": "module m\n\ngo 1.21\n",
            "m.go": "package m\n\nfunc Add(a, b int) int { return a - b }\n",
            "m_test.go": 'package m\n\nimport "testing"\n\n'
            'func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error("no")\n'
            "\t}\n}\n\nfunc TestZero(t *testing.T) {\n}\n",
        },
        ("m.TestAdd", "m.TestZero", "m_test.go:7"),
    ),
    "make": (
        {
            "Makefile": "test: t\n\t./t\nt: t.c\n\t$(CC) -o t t.c\n",
            "t.c": '#include <stdio.h>\nint main(void) { puts("PASS: zero"); puts("FAIL: add"); return 1; }\n',
        },
        ("add", "zero", ""),
    ),
}
PROGRAMS = {"python": "python3", "node": "node", "go": "go", "make": "gcc"}


@needs_sandbox
@pytest.mark.soak
@pytest.mark.parametrize("name", PROJECTS)
async def test_the_tests_of_a_project_run_and_are_read(name: str, tmp_path: Path) -> None:
    if name == "go" and EFFORT == 1:
        pytest.skip("its standard library takes a minute to compile: `make soak` has the time")
    if shutil.which(PROGRAMS[name]) is None:
        pytest.skip(f"{PROGRAMS[name]} is not installed")
    files, (failed, passed, place) = PROJECTS[name]
    with hands(write(tmp_path / "repo", files), tmp_path / "state") as agent:
        answer = await agent.call("run_tests")
        assert answer.startswith("1 failed test, 1 passed test"), answer
        assert f"FAILED {failed}{f' at {place}' if place else ''}" in answer
        assert passed not in answer


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "Ask"}, "mode is 'Ask'; it must be one of 'sandbox', 'ask', 'trusted', 'never'"),
        ({"timeout": -1}, "timeout is -1; it must be a number > 0"),
        ({"timeout": "60"}, "timeout is '60'; it must be a number > 0"),
        ({"max_output": 0}, "max_output is 0; it must be a number > 0"),
    ],
)
def test_a_policy_that_means_nothing_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"CommandPolicy.{message}"):
        CommandPolicy(**options)
