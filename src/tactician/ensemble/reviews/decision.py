"""Decisions about a gate: approve, edit, retry or exit early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import JsonSchema
from tactician.loop import InvalidOutput
from tactician.runs import Approval, Response, StoredAnswer

Verdict: TypeAlias = Literal["approve", "edit", "retry", "exit_early"]
_WAYS: Final = "answer with ReviewDecision.approve(), .edit(text), .retry(why) or .exit_early(), or with its JSON form"


@frozen
class ReviewDecision:
    """Decision of a reviewer. Make a decision with `approve`, `edit`, `retry` or `exit_early`.

    Attributes:
        decision: the decision.
        text: the new output, for `"edit"`.
        feedback: what has to change, for `"retry"`.
    """

    decision: Annotated[Verdict, Field(description="approve, edit, retry or exit_early")]
    text: Annotated[str, Field(description="the new output, for edit")] = ""
    feedback: Annotated[str, Field(description="what has to change, for retry")] = ""

    @classmethod
    def approve(cls) -> ReviewDecision:
        """Return the decision to continue."""
        return cls("approve")

    @classmethod
    def edit(cls, text: str) -> ReviewDecision:
        """Return the decision to continue with another output."""
        return cls("edit", text=text)

    @classmethod
    def retry(cls, feedback: str) -> ReviewDecision:
        """Return the decision to run the task again, with feedback."""
        return cls("retry", feedback=feedback)

    @classmethod
    def exit_early(cls) -> ReviewDecision:
        """Return the decision to end the ensemble with the outputs so far."""
        return cls("exit_early")


def read_decision(response: Response) -> ReviewDecision:
    """Return the decision in an answer: the object, its JSON form, `approve()`, or a word such as `approve`.

    Raises:
        InvalidOutput: when it is none of these. Nothing else counts as an approval.
        StoredStateError: when another object was stored.
    """
    if isinstance(response, StoredAnswer):
        return cast("ReviewDecision", response.restore(ReviewDecision))
    if isinstance(response, ReviewDecision):
        response = {
            field.name: getattr(response, field.name) for field in fields(response)
        }  # whose values nobody checked
    if response is True or (isinstance(response, Approval) and response.granted and response.arguments is None):
        return ReviewDecision.approve()
    if isinstance(response, Mapping) and response.get("granted") is True:
        return ReviewDecision.approve()
    if isinstance(response, str):
        response = _read_text(response)
    if not isinstance(response, Mapping):
        raise InvalidOutput(f"it is not a decision: {_WAYS}")
    try:
        return decision_adapter().validate_python(response)
    except ValidationError as error:
        raise InvalidOutput(f"the decision has {format_count(error.error_count(), 'wrong field')}: {_WAYS}") from error


def get_decision_schema() -> JsonSchema:
    """Return the JSON schema of a decision, as the form of a review."""
    return decision_adapter().json_schema()


@cache
def decision_adapter() -> TypeAdapter[ReviewDecision]:
    """Return the adapter that reads and writes decisions as JSON."""
    return TypeAdapter(ReviewDecision)


def _read_text(text: str) -> object:
    """Return the JSON in a text, or the decision that a single word names."""
    word = text.strip().lower()
    if word in ("approve", "exit_early"):
        return {"decision": word}
    try:
        return from_json(text)
    except ValueError:
        return text
