"""Numbers of traces, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from tactician.trace.node import ModelUse

_UNKNOWN = "unknown"


def format_seconds(seconds: float) -> str:
    """Return a duration with the precision that its length deserves."""
    if 0 < seconds < 0.0005:
        return "<1 ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def format_moment(seconds: float) -> str:
    """Return a moment, in UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"


def format_tokens(use: ModelUse, tokens: int | None = None) -> str:
    """Return a number of tokens, all by default, and that there are more if some requests reported none."""
    tokens_shown = use.total_tokens if tokens is None else tokens
    if tokens_shown is None or use.unmetered == use.requests:
        return _UNKNOWN
    return f"{tokens_shown:,}{_mark(use.unmetered)}"


def format_cost(use: ModelUse) -> str:
    """Return the cost, and that it is more if some prices are unknown."""
    if use.cost is None:
        return _UNKNOWN
    return f"${use.cost:,.4f}{_mark(use.unpriced)}"


def _mark(unknown: int) -> str:
    return f" + {unknown:,} unknown" if unknown else ""
