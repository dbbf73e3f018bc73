"""Providers of OpenTelemetry's SDK for programs that have set none, as the variables `OTEL_*` say."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import Final, cast

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from tactician.errors import ConfigurationError

_NONE: Final = "none"
_OTLP: Final = "otlp"


def set_up_providers(service_name: str | None) -> None:
    """Set providers of traces and metrics for the program, unless it has set its own.

    Args:
        service_name: name of the program, where `OTEL_SERVICE_NAME` gives none.

    Raises:
        ConfigurationError: when a requested exporter is not installed.
    """
    resource = _create_resource(service_name)
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider(resource=resource)
        for name in _list_exporters("OTEL_TRACES_EXPORTER"):
            provider.add_span_processor(BatchSpanProcessor(cast("SpanExporter", _load_exporter(name, "traces"))))
        trace.set_tracer_provider(provider)
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        names = _list_exporters("OTEL_METRICS_EXPORTER")
        readers: list[MetricReader] = [
            PeriodicExportingMetricReader(cast("MetricExporter", _load_exporter(name, "metrics"))) for name in names
        ]
        metrics.set_meter_provider(MeterProvider(readers, resource))


def _create_resource(service_name: str | None) -> Resource:
    is_named = os.environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if is_named or service_name is None else {SERVICE_NAME: service_name})


def _list_exporters(variable: str) -> list[str]:
    named = [name.strip() for name in os.environ.get(variable, _OTLP).split(",")]
    return [name for name in named if name and name != _NONE]


def _load_exporter(name: str, signal: str) -> object:
    """Return an exporter that an installed package has registered under a name."""
    if name == _OTLP:
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    group = f"opentelemetry_{signal}_exporter"
    entry_point = next(iter(entry_points(group=group, name=name)), None)
    if entry_point is None:
        exporter_names = ", ".join(sorted({entry.name for entry in entry_points(group=group)})) or "none"
        variable = f"OTEL_{signal.upper()}_EXPORTER"
        raise ConfigurationError(f"{variable}: no exporter {name!r} is installed (installed: {exporter_names}).")
    exporter: object = entry_point.load()()
    return exporter
