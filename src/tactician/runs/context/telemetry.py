"""Telemetry: what the settings of a project ask for, and the W3C trace context with which runs continue elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from tactician.config.loading import find_settings, load_settings
from tactician.late_imports import Port
from tactician.trace.capture import CaptureMode

if TYPE_CHECKING:
    from tactician.config.settings import TelemetrySettings

TraceSource: TypeAlias = Callable[[str], str | None]
TELEMETRY: Final[Port[Callable[[TelemetrySettings], None]]] = Port("telemetry")
"""The function that `tactician.integrations.otel` binds. It is loaded when the settings enable telemetry."""
_sources: list[TraceSource] = []


@cache
def load_capture_mode() -> CaptureMode | None:
    """Return the capture mode in the settings, for runs without a mode of their own, or `None`; read once.

    Raises:
        ConfigurationError: when the settings are not valid.
    """
    setting = load_settings().telemetry.capture
    return None if setting is None else CaptureMode(setting)


def start_telemetry() -> None:
    """Start what `[telemetry]` in `tactician.toml` asks for: nothing, by default.

    Raises:
        ConfigurationError: when the settings are not valid.
        MissingExtraError: when the extra is not installed.
    """
    settings = find_settings()
    if settings is not None and settings.telemetry.enabled:
        TELEMETRY.load()(settings.telemetry)


def set_trace_source(source: TraceSource) -> None:
    """Set the function that returns the trace context of a run, or of the code that runs, if the run has none yet."""
    _sources[:] = [source]


def find_trace_parent(run_id: str) -> str | None:
    """Return the trace context with which a run can continue elsewhere; `None` when nobody traces."""
    return _sources[0](run_id) if _sources else None


def join_trace(parent: str | None, state: str | None) -> str | None:
    """Return a trace context as runs keep it: the `traceparent`, and after a space the `tracestate`, if any."""
    return f"{parent} {state}" if parent and state else parent


def split_trace(context: str) -> tuple[str, str]:
    """Return the `traceparent` and the `tracestate` of a trace context; the second is empty if it has none."""
    parent, _, state = context.partition(" ")
    return parent, state
