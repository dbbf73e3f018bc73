"""Results of evaluators as events of OpenTelemetry, by its conventions for generative models."""

from __future__ import annotations

from typing import Final

from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.util.types import AnyValue

from tactician.evals.entries import TrialEntry

EVENT: Final = "gen_ai.evaluation.result"
_SCOPE: Final = "tactician"


def emit_results(entry: TrialEntry, target: str) -> None:
    """Emit an event `gen_ai.evaluation.result` for each result of the run of a case.

    Without an SDK that is set up, nothing happens. Reasons are the words of models: they are left out.

    Args:
        entry: the run of the case.
        target: name of what was evaluated.
    """
    case = entry.passed
    if case is None:
        return
    logger = get_logger(_SCOPE)
    common: dict[str, AnyValue] = {"gen_ai.evaluation.target": target, "tactician.run.id": entry.run_id}
    for name, result in {**case.assertions, **case.scores, **case.labels}.items():
        attributes = {**common, "gen_ai.evaluation.name": name, **_describe(result.value)}
        logger.emit(LogRecord(event_name=EVENT, body=f"{name} of {entry.name}", attributes=attributes))
    for failure in case.evaluator_failures:
        attributes = {**common, "gen_ai.evaluation.name": failure.name, "error.type": failure.error_type or "_OTHER"}
        body = f"{failure.name} of {entry.name} failed"
        logger.emit(LogRecord(event_name=EVENT, body=body, attributes=attributes, severity_number=SeverityNumber.WARN))


def _describe(value: bool | float | str) -> dict[str, AnyValue]:
    """Return the attributes of a value: an assertion is a number and a label."""
    if isinstance(value, bool):
        label = "pass" if value else "fail"
        return {"gen_ai.evaluation.score.value": float(value), "gen_ai.evaluation.score.label": label}
    if isinstance(value, str):
        return {"gen_ai.evaluation.score.label": value}
    return {"gen_ai.evaluation.score.value": float(value)}
