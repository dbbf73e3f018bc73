"""Runs Fast Downward and pyperplan, both optimal (A* with the landmark-cut heuristic), on PDDL files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measures import ChildError, child_environment, json_from, last_line
from benchmarks.planning_problems import Problem, domain, task

SECONDS = 20.0
PYPERPLAN_SECONDS = 10.0  # pure Python: where it is slow it is very slow
SEARCH = "astar(lmcut())"
# The files are grounded: to look for invariants in them would take the translator longer than most searches do.
TRANSLATE = ("--translate-options", "--invariant-generation-max-time", "1", "--search-options")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a planner found: the plan's cost, the seconds of search and of everything; or why it found nothing."""

    cost: float | None = None
    search: float | None = None
    total: float | None = None
    problem: str = ""


def driver(python: Path) -> Path:
    """Find the driver script inside the installed wheel, without importing the package and what it pulls in."""
    code = "import importlib.util as u, json; print(json.dumps(u.find_spec('up_fast_downward').origin))"
    path = Path(json_from(python, ["-I", "-c", code])).parent / "downward" / "fast-downward.py"
    if not path.is_file():
        raise ChildError("the wheel holds no driver")
    return path


def fast_downward(python: Path, script: Path, problem: Problem, seconds: float = SECONDS) -> Outcome:
    limit = f"{seconds:.0f}s"
    command = [str(python), str(script), "--overall-time-limit", limit, "domain.pddl", "task.pddl", *TRANSLATE]
    command += ["--search", SEARCH]
    return solve(command, problem, cost=r"Plan cost: (\d+)", search=r"\] Search time: ([\d.e+-]+)s", limit=seconds)


def first_plan(python: Path, script: Path, problem: Problem, seconds: float = SECONDS) -> Outcome:
    """Return the first plan of LAMA, which is as good as it happens to be."""
    limit = f"{seconds:.0f}s"
    alias = ["--overall-time-limit", limit, "--alias", "lama-first"]
    command = [str(python), str(script), *alias, "domain.pddl", "task.pddl"]
    return solve(command, problem, cost=r"Plan cost: (\d+)", search=r"\] Search time: ([\d.e+-]+)s", limit=seconds)


def pyperplan(python: Path, problem: Problem) -> Outcome:
    """Plan with unit costs: pyperplan knows no others, so its cost is the number of steps."""
    command = [str(python), "-m", "pyperplan", "-s", "astar", "-H", "lmcut", "domain.pddl", "task.pddl"]
    return solve(
        command,
        problem,
        cost=r"Plan length: (\d+)",
        search=r"Search time: ([\d.e+-]+)",
        limit=PYPERPLAN_SECONDS,
        costs=False,
    )


def solve(command: list[str], problem: Problem, *, cost: str, search: str, limit: float, costs: bool = True) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "domain.pddl").write_text(domain(problem, costs=costs))
        Path(folder, "task.pddl").write_text(task(problem, costs=costs))
        started = time.perf_counter()
        output = bound_schema(command, folder, limit)
        total = time.perf_counter() - started
    if output is None or (found := re.search(cost, output)) is None:
        late = output is None or total > limit * 0.9
        return Outcome(problem=f"timeout ({limit:.0f} s)" if late else last_line(output or ""))
    seconds = re.search(search, output)
    return Outcome(float(found[1]), float(seconds[1]) if seconds else None, total)


def bound_schema(command: list[str], folder: str, limit: float) -> str | None:
    """Return what the command prints, or None when its time is up; its whole process group ends with it."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=limit + 1)[0]
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
