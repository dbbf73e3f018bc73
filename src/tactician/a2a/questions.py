"""Questions of a remote agent as requests of a run, and the answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.a2a.messages import A2aData, A2aPart
from tactician.frozen import frozen
from tactician.llm import Text
from tactician.llm.model import JsonSchema
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Approval, PendingKind, ReportedError, Response
from tactician.runs.requests.answers import StoredAnswer

REQUESTS: Final = "requests"
"""Key of the requests in the data of a question of a Tactician server."""
REQUEST_ID: Final = "requestId"
SKILL_ID: Final = "skillId"
IDEMPOTENCY_KEY: Final = "idempotencyKey"
"""Keys of the metadata of a message."""
_TEXT: Final[JsonSchema] = {
    "type": "object",
    "properties": {"value": {"type": "string", "x-form": {"widget": "textarea", "label": "Answer", "order": 0}}},
    "required": ["value"],
    "additionalProperties": False,
}


@frozen
class RemoteQuestion:
    """Question of a remote agent.

    Attributes:
        prompt: what it asks, for a person.
        request_id: id of the request there, where the other side is a Tactician server.
        kind: kind of answer.
        schema: JSON schema of the answer.
        problem: what was wrong with the last answer.
    """

    prompt: str
    request_id: str | None = None
    kind: PendingKind = "form"
    schema: JsonSchema | None = None
    problem: str | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the question as JSON."""
        return {
            "prompt": self.prompt,
            "request_id": self.request_id,
            "kind": self.kind,
            "schema": cast("JsonValue", self.schema),
            "problem": self.problem,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, object]) -> RemoteQuestion:
        """Return the question that `to_json` made JSON."""
        request_id, schema, problem = saved.get("request_id"), saved.get("schema"), saved.get("problem")
        return cls(
            str(saved.get("prompt", "")),
            str(request_id) if request_id is not None else None,
            "confirmation" if saved.get("kind") == "confirmation" else "form",
            cast("JsonSchema", schema) if isinstance(schema, dict) else None,
            str(problem) if problem is not None else None,
        )

    def to_request(self, id: str, path: tuple[str, ...]) -> PendingRequest:
        """Return the question as a request of a run."""
        return PendingRequest(id, self.kind, self.prompt, path=path, schema=self.schema or _TEXT, problem=self.problem)


def read_question(parts: Iterable[A2aPart], remote: str) -> RemoteQuestion:
    """Return the question that a remote agent asks with a message."""
    all_parts = tuple(parts)
    text = "\n".join(part.text for part in all_parts if isinstance(part, Text))
    for part in all_parts:
        if isinstance(part, A2aData) and (question := _read_request(part.value)) is not None:
            return question
    return RemoteQuestion(text or f"{remote} needs input")


def _read_request(data: JsonValue) -> RemoteQuestion | None:
    """Return the first request of a Tactician server; `None` for other data."""
    requests = data.get(REQUESTS) if isinstance(data, dict) else None
    asked = requests[0] if isinstance(requests, list) and requests else None
    if not isinstance(asked, dict) or not isinstance(asked.get("id"), str):
        return None
    schema, problem = asked.get("schema"), asked.get("problem")
    return RemoteQuestion(
        str(asked.get("prompt", "")),
        str(asked["id"]),
        "confirmation" if asked.get("kind") in ("confirmation", "approval") else "form",
        cast("JsonSchema", schema) if isinstance(schema, dict) else None,
        str(problem) if problem is not None else None,
    )


def create_answer(response: Response) -> tuple[A2aPart, ...]:
    """Return the answer to a question as parts of a message."""
    match response:
        case StoredAnswer(text, None, _):
            return (Text(text),)
        case StoredAnswer(_, value, _):
            return _to_parts(value)
        case Approval(True):
            return (A2aData(True),)
        case Approval(False, reason) | {"granted": False, "reason": str(reason)}:
            return (A2aData({"granted": False, "reason": reason}),)
        case Exception():
            raised = str(response) if isinstance(response, ReportedError) else f"{type(response).__name__}: {response}"
            return (A2aData({"granted": False, "reason": raised}),)
    return _to_parts(cast("JsonValue", to_jsonable_python(response, fallback=str)))


def _to_parts(value: JsonValue) -> tuple[A2aPart, ...]:
    match value:
        case {"value": str(text), **others} if not others:
            return (Text(text),)
        case str():
            return (Text(value),)
    return (A2aData(value),)
