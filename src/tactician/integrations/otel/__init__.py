"""OpenTelemetry: runs, model calls, tools, plans and searches as spans and metrics, by the conventions for AI.

`enable()` is for the whole program, and `create_listener()` for a single platform or run. Both need the extra `otel`.
Without them nothing of OpenTelemetry is loaded, and no event is built for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tactician.config.settings import TelemetrySettings
from tactician.errors import MissingExtraError
from tactician.events import subscribe_everywhere
from tactician.events.bus import EventListener
from tactician.extras import describe_install
from tactician.runs.context.telemetry import TELEMETRY

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["create_listener", "enable"]

_INSTALL_HINT: Final = describe_install("otel")
_disable: list[Callable[[], None]] = []


def enable(
    *,
    content: bool = False,
    service_name: str | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> Callable[[], None]:
    """Trace all runs of the program from now on. Called again, it replaces what was enabled before.

    Without providers, the program's providers are used. Where it has set none, providers of the SDK are set, with the
    exporters and all else that the variables `OTEL_*` name: OTLP over HTTP by default.

    Args:
        content: true to record prompts, answers, arguments and results of tools, and messages of errors.
        service_name: name of the program, where `OTEL_SERVICE_NAME` gives none.
        tracer_provider: maker of the tracer.
        meter_provider: maker of the meter.

    Returns:
        The function that ends it.

    Raises:
        MissingExtraError: when the extra `otel` is not installed.
        ConfigurationError: when a requested exporter is not installed.
    """
    _check_extra()
    if tracer_provider is None and meter_provider is None:
        from tactician.integrations.otel.providers import set_up_providers

        set_up_providers(service_name)
    listener = create_listener(content=content, tracer_provider=tracer_provider, meter_provider=meter_provider)
    _stop()
    unsubscribe = subscribe_everywhere(listener)
    _disable.append(unsubscribe)

    def disable() -> None:
        unsubscribe()
        if unsubscribe in _disable:
            _disable.remove(unsubscribe)

    return disable


def create_listener(
    *,
    content: bool = False,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> EventListener:
    """Return a listener that traces what it hears: `Platform(on_event=create_listener())`.

    Args:
        content: true to record prompts, answers, arguments and results of tools, and messages of errors.
        tracer_provider: maker of the tracer; the program's by default.
        meter_provider: maker of the meter; the program's by default.

    Raises:
        MissingExtraError: when the extra `otel` is not installed.
    """
    _check_extra()
    from tactician.integrations.otel.listener import SpanListener

    return SpanListener(tracer_provider, meter_provider, content=content)


def _check_extra() -> None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise MissingExtraError(f"OpenTelemetry's SDK is not installed. {_INSTALL_HINT}")


def _stop() -> None:
    while _disable:
        _disable.pop()()


def _enable_as_set(settings: TelemetrySettings) -> None:
    """Enable what `[telemetry]` asks for, unless the program has enabled something itself."""
    if settings.enabled and not _disable:
        enable(content=settings.content, service_name=settings.service_name)


TELEMETRY.bind(_enable_as_set)
