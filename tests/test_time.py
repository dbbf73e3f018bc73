"""Tests that all of Tactician takes the time from a clock that somebody hands it."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import tactician

ROOT: Final = Path(tactician.__file__).parent
FORBIDDEN: Final = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "asyncio": {"timeout", "timeout_at", "wait_for"},
    "anyio": {"sleep", "fail_after", "move_on_after"},
    "loop": {"time", "call_later", "call_at"},
}
SOCKET: Final = "it waits for a socket, which real time goes by for"
PROCESS: Final = "it bounds a process or a thread, which run in real time"
COMMAND: Final = "it belongs to the command line, which people wait for"
DEFAULT: Final = "it is the default of an object that is made outside of a run; runs hand in their time"
ALLOWED: Final[Mapping[str, str]] = {
    "clock.py": "it is the system's clock",
    "testing/clock.py": "a sleep of no time lets other tasks run",
    "a2a/connection.py": SOCKET,
    "a2a/grpc_transport.py": SOCKET,
    "llm/embedded.py": PROCESS,
    "llm/embeddings/local.py": PROCESS,
    "llm/http_errors.py": "dates of other servers are compared with the date",
    "llm/pydantic_ai_adapter/model.py": SOCKET,
    "llm/pydantic_ai_adapter/responses.py": SOCKET,
    "llm/served_models.py": SOCKET,
    "mcp/bodies.py": SOCKET,
    "serve/api/serving/sse.py": SOCKET,
    "serve/api/serving/time_limit.py": SOCKET,
    "serve/mcp/runs.py": "it bounds a kill while the program is being cancelled",
    "code_mode/script.py": PROCESS,
    "rag/deadlines.py": PROCESS,
    "rag/regex_program.py": PROCESS,
    "rag/sqlite_connection.py": PROCESS,
    "rag/library.py": "entries of a library outlast programs, and no run is there to hand in a clock",
    "tools/builtin/process_group.py": PROCESS,
    "stores/sqlite.py": "other processes hold the file in real time",
    "stores/sqlite_listing.py": "leases of a database are in real time",
    "process/deciding/deliberation.py": "planning shares the processor by the time that it really takes",
    "integrations/temporal_activities.py": "Temporal's server counts heartbeats in real time",
    "cli/models.py": COMMAND,
    "events/event.py": DEFAULT,
    "process/objects.py": DEFAULT,
    "ensemble/learning/reflection.py": DEFAULT,
    "prompts/contributors.py": DEFAULT,
}
"""Modules that may take the machine's time, and why."""


def names_of_time(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN:
            yield from (
                (node.lineno, f"{node.module}.{a.name}") for a in node.names if a.name in FORBIDDEN[node.module]
            )
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else owner
            if node.attr in FORBIDDEN.get(owner, ()):
                yield node.lineno, f"{owner}.{node.attr}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "asyncio.sleep" and not is_zero(node):
            yield node.lineno, "asyncio.sleep"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "asyncio.wait" and has_timeout(node):
            yield node.lineno, "asyncio.wait(timeout=)"


def is_zero(call: ast.Call) -> bool:
    return ast.unparse(call.args[0]) == "0"


def has_timeout(call: ast.Call) -> bool:
    return any(keyword.arg == "timeout" for keyword in call.keywords)


def find_uses() -> dict[str, list[str]]:
    uses: dict[str, list[str]] = {}
    for file in ROOT.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if found := [f"{line}: {name}" for line, name in names_of_time(tree)]:
            uses[file.relative_to(ROOT).as_posix()] = found
    return uses


def test_no_module_takes_the_time_of_the_machine_but_these() -> None:
    uses = find_uses()
    others = {path: names for path, names in uses.items() if path not in ALLOWED}
    assert others == {}, "take the time from a clock: context.clock, services.clock, tactician.clock.Timeout"


def test_the_list_has_no_module_that_need_not_be_there() -> None:
    assert sorted(ALLOWED.keys() - find_uses().keys() - {"testing/clock.py"}) == []


def test_the_search_finds_each_way_to_take_the_time() -> None:
    text = """
from time import monotonic
time.time()
datetime.datetime.now()
date.today()
await asyncio.sleep(1)
await asyncio.sleep(0)
asyncio.timeout(3)
asyncio.wait(tasks, timeout=3)
asyncio.wait(tasks)
loop.time()
"""
    assert [line for line, _ in sorted(names_of_time(ast.parse(text)))] == [2, 3, 4, 5, 6, 8, 9, 11]
