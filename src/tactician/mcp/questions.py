"""Questions of a server to a person: a run waits for the answer, and then makes the call again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast
from zlib import crc32

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import ConfigurationError, InvalidArgumentsError
from tactician.frozen import frozen
from tactician.llm.model import JsonSchema
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Approval
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.requests.answers import StoredAnswer
from tactician.tools.schema_check import SchemaCheck

if TYPE_CHECKING:
    from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams

    Question: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams

_CONFIRMATION: JsonSchema = {"type": "boolean"}


@frozen
class ElicitedAnswer:
    """Answer of a person to a server: the filled-in form, or `None` when the person does not give it."""

    content: Mapping[str, JsonValue] | None
    is_accepted: bool = True


_DECLINED = ElicitedAnswer(None, is_accepted=False)


def find_answer(question: Question, server: str, number: int, context: RunContext) -> ElicitedAnswer | PendingRequest:
    """Return the answer to a question, which is kept in the run; else the request for it.

    Args:
        question: the question.
        server: name of the server that asks.
        number: number of times that the call has asked just this before.
        context: the call of the tool, which has a checkpoint.
    """
    assert context.checkpoint is not None
    schema = getattr(question, "requested_schema", None)
    mark = crc32(to_json([question.message, schema, number], fallback=str))
    asked = context.checkpoint.at(f"asked-{mark:08x}")
    problem = None
    try:
        if asked.path in context.responses:
            return _keep(asked, _read_response(context.responses[asked.path], schema))
    except (InvalidArgumentsError, ConfigurationError) as error:
        problem = str(error)
    if (kept := asked.data.get("answer")) is not None:
        return TypeAdapter(ElicitedAnswer).validate_python(kept)
    return _create_request(question, schema, server, asked, context, problem)


def _create_request(
    question: Question,
    schema: JsonSchema | None,
    server: str,
    asked: Checkpoint,
    context: RunContext,
    problem: str | None,
) -> PendingRequest:
    prompt = f"{server} asks: {question.message}"
    if schema is not None:
        return PendingRequest(asked.path, "form", prompt, path=context.path, schema=schema, problem=problem)
    prompt = f"{prompt}\nOpen {getattr(question, 'url', '')} and say when it is done."
    return PendingRequest(asked.path, "confirmation", prompt, path=context.path, schema=_CONFIRMATION, problem=problem)


def _keep(asked: Checkpoint, answer: ElicitedAnswer) -> ElicitedAnswer:
    content = None if answer.content is None else dict(answer.content)
    asked.set(answer={"content": content, "is_accepted": answer.is_accepted})
    return answer


def _read_response(response: object, schema: JsonSchema | None) -> ElicitedAnswer:
    """Return the answer that a response means.

    Raises:
        InvalidArgumentsError: when the response does not fit the form.
        ConfigurationError: when the schema of the form is not valid.
    """
    if isinstance(response, StoredAnswer):
        response = response.value
    if isinstance(response, dict) and response.keys() == {"granted", "reason", "arguments"}:
        response = Approval(response["granted"] is True, str(response["reason"]))
    if response is False or (isinstance(response, Approval) and not response.granted):
        return _DECLINED
    if schema is None:
        return ElicitedAnswer(None)
    text = _dump(response)
    SchemaCheck("the form", schema).check(text)
    return ElicitedAnswer(cast("Mapping[str, JsonValue]", TypeAdapter(dict[str, JsonValue]).validate_json(text)))


def _dump(response: object) -> str:
    try:
        return to_json(response).decode()
    except (ValidationError, ValueError, TypeError) as error:
        raise InvalidArgumentsError(f"The answer has no JSON form: {error}") from error
