"""The use of models, as the server counts it."""

from __future__ import annotations

import pytest

from tactician.llm import AssistantMessage, ModelResponse, Text, Usage
from tactician.loop import TurnCompleted, TurnFailed
from tactician.platform.host.meter import ModelMeter


def complete() -> TurnCompleted:
    usage = Usage(10, 5, requests=1, model="openai:gpt-mock")
    response = ModelResponse(AssistantMessage((Text("Hi"),)), usage, "stop", "gpt-mock")
    return TurnCompleted(run_id="r", path=("A",), turn=1, response=response, seconds=1.0)


def fail() -> TurnFailed:
    return TurnFailed(run_id="r", path=("A",), turn=1, model="gpt-mock", seconds=1.0, error="busy")


@pytest.mark.parametrize("order", [(fail, complete), (complete, fail), (fail, complete, fail)])
def test_errors_count_for_the_model_that_answers(order: tuple[type, ...]) -> None:
    meter = ModelMeter()
    for create in order:
        meter.note(create())

    assert list(meter.points) == ["openai:gpt-mock"]
    points = meter.points["openai:gpt-mock"]
    assert sum(point.calls for point in points) == len(order)
    assert sum(point.errors for point in points) == len(order) - 1
    assert sum(point.usage.total_tokens for point in points) == 15


def test_a_model_that_never_answers_has_its_errors() -> None:
    meter = ModelMeter()
    meter.note(fail())

    assert [point.errors for point in meter.points["gpt-mock"]] == [1]
