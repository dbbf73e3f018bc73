"""Medians with their spread, and children that print one JSON value."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class ChildError(Exception):
    """A child process failed; the message is the last thing it said."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some measurements and how far they lay apart."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        ordered = sorted(values)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])

    def show(self, scale: float = 1.0, digits: int = 2) -> str:
        """Format as `1.23 (1.20-1.31)`."""
        median, low, high = (f"{value * scale:,.{digits}f}" for value in (self.median, self.low, self.high))
        return median if low == high else f"{median} ({low}-{high})"


def progress(text: str) -> None:
    """Tell a watching person what is going on; the report alone goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def child_environment() -> dict[str, str]:
    """Return the little a measured child may see: no keys, no proxies, and every way to phone home switched off."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return kept | {
        "PYTHONHASHSEED": "0",
        "OPENAI_API_KEY": "unused",
        "AGNO_TELEMETRY": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "ENABLE_INSTRUMENTATION": "false",
        "AGENT_FRAMEWORK_USER_AGENT_DISABLED": "true",
    }


def json_from(python: Path, arguments: Sequence[str], *, timeout: float = 120) -> Any:  # noqa: ANN401  (it is JSON)
    """Run `python arguments` and return the JSON it printed as its last line.

    Raises:
        ChildError: it failed, printed no JSON, or took longer than `timeout` seconds.
    """
    command = [str(python), *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=child_environment(), capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired as error:
        raise ChildError(f"no answer within {timeout:.0f} s") from error
    if done.returncode:
        raise ChildError(last_line(done.stderr) or f"exit code {done.returncode}")
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError) as error:
        raise ChildError("printed no JSON") from error


def last_line(text: str) -> str:
    """Return the last line, without addresses and folders: a report may be pasted anywhere."""
    line = (text.strip().splitlines() or [""])[-1]
    return re.sub(r"\w+://\S+|(?<![\w.])/[\w.+@/-]*/", "", line)[:160]
