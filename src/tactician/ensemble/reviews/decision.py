"""Decisions about a gate: approve, edit, retry or exit early."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from tactician.frozen import frozen
from tactician.llm.model import JsonSchema
from tactician.loop.output import InvalidOutput
from tactician.runs.outcomes.suspension import Approval, Response
from tactician.runs.requests.answers import StoredAnswer

Verdict: TypeAlias = Literal["approve", "edit", "retry", "exit_early"]
_FORM: Final = re.compile(r"(APPROVE|EXIT_EARLY)|(EDIT|RETRY)[ \t]*:(.*)", re.DOTALL | re.IGNORECASE)
_QUOTED: Final = 60
_FORMS: Final = "APPROVE, EDIT: <new output>, RETRY: <feedback>, or EXIT_EARLY"


@frozen
class ReviewDecision:
    """Decision of a reviewer. Make a decision with `approve`, `edit`, `retry` or `exit_early`.

    As text it is `APPROVE`, `EDIT: <new output>`, `RETRY: <feedback>` or `EXIT_EARLY`, in any case.

    Attributes:
        decision: the decision.
        text: the new output, for `"edit"`.
        feedback: what has to change, for `"retry"`.
    """

    decision: Annotated[Verdict, Field(description="approve, edit, retry or exit_early")]
    text: Annotated[str, Field(description="the new output, for edit")] = ""
    feedback: Annotated[str, Field(description="what to change, for retry")] = ""

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
    """Return the decision in an answer: the object, its JSON, its form as text, or `approve()`.

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
    value = _read_text(response) if isinstance(response, str) else response
    try:
        return decision_adapter().validate_python(value)
    except ValidationError as error:
        quoted = repr(response) if isinstance(response, str) and len(response) <= _QUOTED else "this"
        raise InvalidOutput(f"{quoted} is no decision on a task. Answer with {_FORMS}.") from error


def get_decision_schema() -> JsonSchema:
    """Return the JSON schema of a decision, as the form of a review."""
    return decision_adapter().json_schema()


@cache
def decision_adapter() -> TypeAdapter[ReviewDecision]:
    """Return the adapter that reads and writes decisions as JSON."""
    return TypeAdapter(ReviewDecision)


def _read_text(text: str) -> object:
    """Return the decision that a text is, as JSON; a text that is neither, as it is."""
    if (match := _FORM.fullmatch(text.strip())) is None:
        try:
            return from_json(text)
        except ValueError:
            return text
    word, verdict, content = match.groups()
    if word is not None:
        return {"decision": word.lower()}
    key = "text" if verdict.lower() == "edit" else "feedback"
    return {"decision": verdict.lower(), key: content.strip()}
