"""Operations that tell of the server itself: whether it lives and is ready, and its figures."""

from __future__ import annotations

from typing import Final

from starlette.responses import PlainTextResponse, Response

from tactician.serve.api.forms import Form, HealthForm
from tactician.serve.api.operations import ApiOperation, Call
from tactician.serve.problems import ApiError

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


async def check_life(call: Call) -> Form:
    """Report that the server is alive."""
    return HealthForm()


async def check_readiness(call: Call) -> Form:
    """Report that the server continues runs, and that its store answers."""
    if not call.server.host.is_ready:
        raise ApiError(503, "The server is not started, or about to stop.")
    await call.server.platform.runs(limit=1)
    return HealthForm()


async def show_metrics(call: Call) -> Response:
    """Return figures in the text format of Prometheus."""
    statuses = await call.server.platform.count_runs()
    lines = ["# HELP tactician_runs Runs in the store, by status.", "# TYPE tactician_runs gauge"]
    lines += [f'tactician_runs{{status="{status}"}} {count}' for status, count in sorted(statuses.items())]
    for name, kind, purpose, value in (
        ("tactician_events_total", "counter", "Events since the server started.", call.server.feed.last),
        ("tactician_streams", "gauge", "Open streams of events.", call.server.streams.open),
    ):
        lines += [f"# HELP {name} {purpose}", f"# TYPE {name} {kind}", f"{name} {value}"]
    return PlainTextResponse("\n".join(lines) + "\n", media_type=_METRICS_TYPE)


HEALTH_OPERATIONS: Final = (
    ApiOperation("GET", "/livez", check_life, "Liveness check", HealthForm, None),
    ApiOperation("GET", "/readyz", check_readiness, "Readiness check", HealthForm, None),
    ApiOperation("GET", "/metrics", show_metrics, "Show figures for Prometheus", media_type="text/plain"),
)
