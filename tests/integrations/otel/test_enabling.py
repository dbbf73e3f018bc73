"""Telemetry for a whole program: enabled by a call or by `tactician.toml`, and sent by OTLP over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tactician import Agent, Platform
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError, MissingExtraError
from tactician.integrations import otel
from tactician.testing import ScriptedModel
from tests.integrations.otel.traces import Traces

TREE = ["invoke_agent Host", ["chat scripted"]]


class Collector(ThreadingHTTPServer):
    """Collector on this machine, which keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: dict[str, list[bytes]] = {}
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def traced(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in self.bodies.get("/v1/traces", [])]

    @property
    def spans(self) -> dict[str, Span]:
        resources = [resource for request in self.traced for resource in request.resource_spans]
        return {span.name: span for resource in resources for scope in resource.scope_spans for span in scope.spans}

    @property
    def services(self) -> set[str]:
        resources = [resource for request in self.traced for resource in request.resource_spans]
        return {read_attributes(list(one.resource.attributes))["service.name"] for one in resources}

    @property
    def metrics(self) -> set[str]:
        requests = [ExportMetricsServiceRequest.FromString(body) for body in self.bodies.get("/v1/metrics", [])]
        resources = [resource for request in requests for resource in request.resource_metrics]
        return {one.name for resource in resources for scope in resource.scope_metrics for one in scope.metrics}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.setdefault(self.path, []).append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


PROGRAM = """
import sys
from tactician import Agent, Platform
from tactician.testing import ScriptedModel, ToolCall

def look(name: str) -> str:
    "Look."
    return "secret result"

model = ScriptedModel(ToolCall("look", name="secret name"), "secret answer", name="openai:gpt-5.4")
agent = Agent("Host", model=model, tools=[look])
if "platform" in sys.argv:
    platform = Platform(model)
    import asyncio
    asyncio.run(agent.run("secret question", context=platform.context()))
else:
    agent.run_sync("secret question")
print("opentelemetry" in sys.modules)
"""


Done: TypeAlias = "subprocess.CompletedProcess[str]"


def run_program(folder: Path, *arguments: str, settings: str = "", **variables: str) -> Done:
    (folder / "tactician.toml").write_text(settings, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment = {**kept, "OPENAI_API_KEY": "sk-s3cr3t", **variables}
    code = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(code, capture_output=True, text=True, cwd=folder, env=environment)


def read_attributes(found: list[KeyValue]) -> dict[str, str]:
    return {one.key: one.value.string_value for one in found}


@pytest.mark.parametrize("where", ["platform", "alone"])
def test_settings_are_enough_to_send_traces_and_metrics(where: str, collector: Collector, tmp_path: Path) -> None:
    settings = '[telemetry]\nenabled = true\nservice_name = "shop"\n'
    headers = "authorization=Bearer s3cr3t"
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": headers}
    done = run_program(tmp_path, where, settings=settings, **variables)

    assert (done.returncode, done.stderr) == (0, "")
    assert set(collector.spans) == {"invoke_agent Host", "chat gpt-5.4", "execute_tool look"}
    run = collector.spans["invoke_agent Host"]
    assert collector.spans["execute_tool look"].parent_span_id == run.span_id
    assert collector.services == {"shop"}
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "tactician.cost"} <= collector.metrics
    assert all(one["authorization"] == "Bearer s3cr3t" for one in collector.headers)
    sent = b"".join(body for bodies in collector.bodies.values() for body in bodies)
    assert b"secret" not in sent
    assert b"s3cr3t" not in sent


def test_the_variables_of_opentelemetry_come_first(collector: Collector, tmp_path: Path) -> None:
    settings = '[telemetry]\nenabled = true\ncontent = true\nservice_name = "shop"\n'
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_SERVICE_NAME": "till",
        "OTEL_METRICS_EXPORTER": "none",
    }
    done = run_program(tmp_path, settings=settings, **variables)

    assert (done.returncode, done.stderr) == (0, "")
    assert collector.services == {"till"}
    assert collector.metrics == set()
    chat = read_attributes(list(collector.spans["chat gpt-5.4"].attributes))
    assert "secret question" in chat["gen_ai.input.messages"]


@pytest.mark.parametrize("settings", ["", "[telemetry]\nenabled = false\ncontent = true\n"])
def test_without_settings_nothing_is_sent_or_loaded(settings: str, collector: Collector, tmp_path: Path) -> None:
    done = run_program(tmp_path, settings=settings, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)

    assert (done.returncode, done.stdout) == (0, "False\n")
    assert collector.bodies == {}


def test_a_collector_that_is_down_fails_no_run(tmp_path: Path) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    done = run_program(tmp_path, settings="[telemetry]\nenabled = true\n", **variables)

    assert (done.returncode, done.stdout) == (0, "True\n")


def test_an_exporter_that_is_not_installed_is_named(tmp_path: Path) -> None:
    done = run_program(tmp_path, settings="[telemetry]\nenabled = true\n", OTEL_TRACES_EXPORTER="jaeger")

    assert "OTEL_TRACES_EXPORTER: no exporter 'jaeger' is installed (installed: console, otlp_proto_http" in done.stderr


async def test_all_runs_are_traced_once_and_until_it_is_disabled() -> None:
    first, traces = Traces(), Traces()
    otel.enable(tracer_provider=first.tracers, meter_provider=first.meters)
    disable = otel.enable(tracer_provider=traces.tracers, meter_provider=traces.meters)
    agent = Agent("Host", model=ScriptedModel("one", "two", "three"))
    try:
        await agent.run("hi")
        await agent.run("hi", context=Platform(ScriptedModel()).context())
    finally:
        disable()
    await agent.run("hi")

    assert traces.tree() == TREE * 2
    assert first.spans == []


@pytest.mark.parametrize("call", [otel.enable, otel.create_listener])
def test_a_missing_extra_is_named(call: type[object], monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str, package: str | None = None) -> object:
        return None if name.startswith("opentelemetry") else find_spec(name, package)

    monkeypatch.setattr("tactician.integrations.otel.find_spec", find)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[otel\]"'):
        call()


def test_a_setting_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text("[telemetry]\nenable = true\n", encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"telemetry\.enable"):
        load_settings(file)
