"""Clients against one mock server: each in a process of its own, in turn, again and again."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.contenders import Contender
from benchmarks.environments import Environment
from benchmarks.measures import ROOT, ChildError, Spread, child_environment, json_from, progress

Cell = tuple[str, int]  # a scenario, and how many do it at once
Repetition = dict[str, dict[str, Any]]  # what each client printed, by module


@contextmanager
def mock_server() -> Iterator[str]:
    """Run the mock server in a process of its own and give its base URL."""
    command = [sys.executable, "-m", "benchmarks.mock_server"]
    with subprocess.Popen(
        command, cwd=ROOT, env=child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        # Leaving closes its standard input, which ends it.


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the clients printed, one repetition after the other, and why some of them printed nothing.

    The first of the contenders is the yardstick.
    """

    contenders: Sequence[Contender]
    problems: dict[str, str]
    repetitions: list[Repetition] = field(default_factory=list)

    @property
    def raw(self) -> dict[str, object]:
        return {"repetitions": self.repetitions, "problems": dict(self.problems)}

    def repeat(self, environments: Mapping[str, Environment], url: str, seconds: float) -> None:
        """Run every client once; one that fails is noted in `problems` and left out from then on."""
        printed: Repetition = {}
        for contender in self.contenders:
            if contender.module in self.problems:
                continue
            try:
                arguments = ["-m", f"benchmarks.clients.{contender.module}", url, str(seconds)]
                printed[contender.module] = json_from(environments[contender.environment].python, arguments)
            except ChildError as error:
                progress(f"{contender.name} failed: {error}")
                self.problems[contender.module] = str(error)
        self.repetitions.append(printed)

    def problem(self, contender: Contender) -> str:
        """Return why there is nothing to compare this client by; nothing when there is."""
        return self.problems.get(contender.module) or self.problems.get(self.contenders[0].module, "")

    def title(self, contender: Contender) -> str:
        return f"{contender.name} {self.repetitions[0][contender.module]['version']}"

    def values(self, contender: Contender, cell: Cell, key: str = "cpu") -> list[float]:
        """Collect one measure of one client, a number per repetition."""
        found: dict[Cell, list[float]] = defaultdict(list)
        for printed in self.repetitions:
            for result in printed[contender.module]["results"]:
                found[result["scenario"], result["concurrency"]].append(result[key])
        return found[cell]

    def ratio(self, contender: Contender, cell: Cell) -> Spread:
        """Compare processor time with the yardstick's in the same repetition."""
        own, raw = (self.values(one, cell) for one in (contender, self.contenders[0]))
        return Spread.of(mine / theirs for mine, theirs in zip(own, raw, strict=True))

    def difference(self, contender: Contender, cell: Cell) -> Spread:
        """Return the processor seconds above the yardstick's in the same repetition."""
        own, raw = (self.values(one, cell) for one in (contender, self.contenders[0]))
        return Spread.of(mine - theirs for mine, theirs in zip(own, raw, strict=True))


def compare(
    what: str,
    contenders: Sequence[Contender],
    environments: Mapping[str, Environment],
    *,
    quick: bool,
    repetitions: int = 4,
) -> Comparison:
    """Measure every client in turn, again and again, so that what disturbs one repetition disturbs all clients."""
    problems = {c.module: problem for c in contenders if (problem := environments[c.environment].problem)}
    comparison = Comparison(contenders, problems)
    with mock_server() as url:
        for number in range(2 if quick else repetitions):
            progress(f"{what}: repetition {number + 1}")
            comparison.repeat(environments, url, 0.2 if quick else 0.4)
    return comparison
