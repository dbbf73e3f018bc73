"""Reviews of phases by people: the run waits until somebody decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.ensemble.phase_decisions import FORMS, PhaseDecision, UndecidedError
from tactician.ensemble.phases.review import PersonReview
from tactician.ensemble.task_output import TaskOutput
from tactician.errors import StoredStateError
from tactician.loop import InvalidOutput, output_type
from tactician.process import build_form
from tactician.runs import Approval, PendingRequest, RunContext, StoredAnswer, Suspended


def ask_person(
    person: PersonReview,
    phase: str,
    outputs: Iterable[TaskOutput],
    place: RunContext,
    check: Callable[[PhaseDecision], PhaseDecision],
) -> PhaseDecision:
    """Return what a person has decided.

    Args:
        person: who decides, and until when.
        phase: the name of the phase.
        outputs: the outputs of its tasks.
        place: the context of the review.
        check: function that completes a decision; it raises an `UndecidedError` when the decision cannot be followed.

    Raises:
        Suspended: when nobody has decided yet, or the answer is no decision.
    """
    asked = place.at("person")
    assert asked.checkpoint is not None
    problem = None
    if (request_id := asked.checkpoint.path) in asked.responses:
        try:
            return check(read_decision(asked.responses[request_id]))
        except UndecidedError as error:
            problem = str(error)
        except (InvalidOutput, StoredStateError) as error:
            problem = f"it is no decision ({error}). Answer with a PhaseDecision, or with {FORMS}"
    raise Suspended(_create_request(person, phase, outputs, asked, request_id, problem))


def read_decision(response: object) -> PhaseDecision:
    """Return the decision that an answer means: a `PhaseDecision`, its JSON, or its form as text.

    Raises:
        InvalidOutput: when it means none.
        StoredStateError: when another object was stored.
    """
    match response:
        case StoredAnswer():
            response = response.restore(PhaseDecision)
        case Approval(granted, reason) | {"granted": bool(granted), "reason": str(reason)}:
            response = PhaseDecision.approve() if granted else PhaseDecision.reject(reason or "no reason was given")
    return output_type(PhaseDecision).accept(response)


def _create_request(
    person: PersonReview,
    phase: str,
    outputs: Iterable[TaskOutput],
    asked: RunContext,
    request_id: str,
    problem: str | None,
) -> PendingRequest:
    shown = "\n\n---\n\n".join(f"### {output.role}: {output.description}\n\n{output.raw}" for output in outputs)
    question = person.prompt or f"Is the phase {phase!r} good enough? Answer with {FORMS}."
    deadline, default = _find_default(person, asked)
    return PendingRequest(
        request_id,
        "form",
        f"{question}\n\n{shown}",
        path=asked.path,
        schema=build_form(PhaseDecision),
        deadline=deadline,
        default=default,
        problem=problem,
        required_role=person.role,
    )


def _find_default(person: PersonReview, asked: RunContext) -> tuple[float | None, JsonValue]:
    """Return when nobody has answered in time, and the decision then."""
    if not person.timeout:
        return None, None
    assert asked.checkpoint is not None
    deadline = asked.checkpoint.data.get("deadline")
    if not isinstance(deadline, float):
        deadline = asked.clock.time() + person.timeout
        asked.checkpoint.set(deadline=deadline)
    reason = f"nobody has decided within {person.timeout:g} seconds"
    decision = PhaseDecision.approve() if person.on_timeout == "approve" else PhaseDecision.reject(reason)
    return deadline, to_jsonable_python(decision)
