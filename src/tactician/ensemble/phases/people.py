"""Reviews of phases by people: the reviewer of the ensemble is asked first, and else the run waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.ensemble.phases.review import PersonReview
from tactician.ensemble.reviews.consultation import PersonAnswer, PersonConsultation, Question
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.values.phase_decisions import FORMS, PhaseDecision, UndecidedError
from tactician.ensemble.values.task_output import TaskOutput
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.process.people.forms import build_form
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import Approval, Response
from tactician.runs.requests.answers import StoredAnswer


async def ask_person(
    person: PersonReview,
    phase: str,
    outputs: Iterable[TaskOutput],
    place: RunContext,
    check: Callable[[PhaseDecision], PhaseDecision],
    reviewer: Reviewer | None,
) -> PersonAnswer[PhaseDecision] | None:
    """Return what a person has decided; `None` when nobody has decided in time.

    Args:
        person: who decides, and until when.
        phase: the name of the phase.
        outputs: the outputs of its tasks.
        place: the context of the review.
        check: function that completes a decision; it raises an `UndecidedError` when the decision cannot be followed.
        reviewer: the reviewer of the ensemble.

    Raises:
        Suspended: when nobody has decided yet, or the answer is no decision.
        InvalidOutput: when the reviewer gives no decision after several tries.
    """

    def read(response: Response) -> PhaseDecision:
        try:
            return check(read_decision(response))
        except UndecidedError as error:
            raise InvalidOutput(str(error)) from error

    shown = "\n\n---\n\n".join(f"### {output.role}: {output.description}\n\n{output.raw}" for output in outputs)
    asked = person.prompt or f"Is the phase {phase!r} good enough?"
    question = Question(
        "person",
        f"{asked}\n\n{shown}",
        build_form(PhaseDecision),
        read,
        _encode,
        _decode,
        person.timeout,
        person.role,
        person.on_timeout,
    )
    return await PersonConsultation(question, place, reviewer).ask()


def read_decision(response: Response) -> PhaseDecision:
    """Return the decision that an answer means: a `PhaseDecision`, its JSON, or its form as text.

    Raises:
        InvalidOutput: when it means none.
        StoredStateError: when another object was stored.
    """
    match response:
        case StoredAnswer():
            response = response.restore(PhaseDecision)
        case True:
            response = PhaseDecision.approve()
        case Approval(granted, reason) | {"granted": bool(granted), "reason": str(reason)}:
            response = PhaseDecision.approve() if granted else PhaseDecision.reject(reason or "no reason was given")
    try:
        return output_type(PhaseDecision).accept(response)
    except InvalidOutput as error:
        problem = f"it is no decision ({error}). Answer with a PhaseDecision, or with {FORMS}"
        raise InvalidOutput(problem) from error


def _encode(decision: PhaseDecision) -> JsonValue:
    saved: JsonValue = to_jsonable_python(decision)
    return saved


def _decode(saved: object) -> PhaseDecision:
    return output_type(PhaseDecision).accept(saved)
