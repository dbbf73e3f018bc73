"""Formatting of values for several commands."""

from __future__ import annotations

from datetime import datetime

from tactician.grammar import format_count
from tactician.llm.usage import UsageTally
from tactician.secrets import mask_secrets
from tactician.text import escape_controls


def format_on_one_line(text: str) -> str:
    """Return untrusted text on a single line, with masks for secrets."""
    return escape_controls(mask_secrets(text)).replace("\n", "\\n").replace("\t", "\\t")


def format_usage(seconds: float, tally: UsageTally) -> str:
    """Return duration, tokens and cost on a single line."""
    parts = [f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"]
    if tally.by_model:
        used, cost = tally.total, tally.total.cost
        parts += [format_count(used.total_tokens, "token"), "price unknown" if cost is None else f"${cost:.4f}"]
    return " · ".join(parts)


def shorten(text: str, limit: int = 100) -> str:
    """Return a text on a single line, with masks for secrets, and shortened where it is too long.

    Control characters are escaped before anything measures the line: a table would cut what an escape adds.
    """
    line = escape_controls(" ".join(mask_secrets(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def format_time(seconds: float) -> str:
    """Return a time in seconds since the epoch as local time."""
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M:%S}"


def format_change(diff: str) -> str:
    """Return how many lines a patch adds and removes, as markup."""
    lines = [line[:1] for line in diff.splitlines() if not line.startswith(("+++", "---"))]
    return f"  [green]+{lines.count('+')}[/green] [red]-{lines.count('-')}[/red]"
