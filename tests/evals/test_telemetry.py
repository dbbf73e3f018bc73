"""Results of evaluators as events of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from tactician.evals import evaluate
from tests.evals.support import calculator, sums


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryLogRecordExporter]:
    provider = LoggerProvider()
    memory = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # the SDK leaves it untyped
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    monkeypatch.setattr("tactician.evals.telemetry.get_logger", provider.get_logger)
    yield memory
    provider.shutdown()


async def test_each_result_is_an_event_of_the_conventions(exporter: InMemoryLogRecordExporter) -> None:
    agent, _ = calculator({"1+1": "2"})
    report = await evaluate(sums({"1+1": "2"}), agent)
    (event,) = [log.log_record for log in exporter.get_finished_logs()]
    assert event.event_name == "gen_ai.evaluation.result"
    assert dict(event.attributes or {}) == {
        "gen_ai.evaluation.target": "Calculator",
        "tactician.run.id": report.entries[0].run_id,
        "gen_ai.evaluation.name": "EqualsExpected",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
    }
