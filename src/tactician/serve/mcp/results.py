"""Results of calls, as clients get them: text, pictures, files and structured content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Union, cast

import mcp_types as types
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import from_json

from tactician.context_format import write_json
from tactician.errors import TacticianError
from tactician.llm import Document, Image
from tactician.llm.model import JsonSchema
from tactician.process.people.forms import HINTS
from tactician.runs import PendingRequest
from tactician.secrets import mask_secrets
from tactician.serve.mcp.blocks import write_block
from tactician.serve.mcp.limits import MOST_RESULT
from tactician.serve.mcp.output_types import OutputType
from tactician.text import describe_error
from tactician.tools import ToolOutput
from tactician.tools.result_types import is_structured
from tactician.tools.tool import describe_result

Schema = dict[str, object]
_RESULT: Final = "result"
DECIDED_BY_PEOPLE: Final = (
    "A person decides that: in a form of this client, if it has forms, in the dashboard, or with `tactician respond`. "
    "Then run_status shows how the run went on."
)
_WAITING: Final[Schema] = {
    "type": "object",
    "description": "the run waits for an answer",
    "properties": {
        "run_id": {"type": "string"},
        "status": {"const": "waiting"},
        "requests": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["run_id", "status", "requests"],
}


class OutputForm:
    """Structured form of an output, which clients check against its schema.

    Args:
        types: the types of the output, which is one of them; text and nothing have no structured form.
        may_wait: true when a client may also get the requests of a run that waits.
    """

    def __init__(self, types: Sequence[OutputType], *, may_wait: bool) -> None:
        schema = _find_schema(types) if types and all(map(is_structured, types)) else None
        self._is_wrapped = schema is not None and schema.get("type") != "object"
        if schema is not None:
            schema = _with_waiting(_wrap(schema) if self._is_wrapped else schema, may_wait)
        self.schema = schema

    def write(self, output: object) -> types.CallToolResult:
        """Return an output as the result of a call."""
        return self._write(output, output)

    def write_text(self, output: str | ToolOutput) -> types.CallToolResult:
        """Return what a tool has written for a model as its result: JSON, where its type is structured."""
        return self._write(output, _read_json(output))

    def _write(self, output: object, structured: object) -> types.CallToolResult:
        text = _write_text(output)
        if len(text) > MOST_RESULT:
            return write_error(f"The result has {len(text):,} characters, of which {MOST_RESULT:,} may be sent.")
        blocks = list(_list_blocks(output, text))
        if self.schema is None:
            return types.CallToolResult(content=blocks)
        value = from_json(write_json(structured))
        return types.CallToolResult(
            content=blocks, structured_content={_RESULT: value} if self._is_wrapped else value, is_error=False
        )


def write_error(error: BaseException | str) -> types.CallToolResult:
    """Return an error as the result of a call, which a model reads and can mend."""
    text = error if isinstance(error, str) else str(error) if isinstance(error, TacticianError) else ""
    if not text and isinstance(error, BaseException):
        text = describe_error(error)
    return types.CallToolResult(content=[types.TextContent(text=mask_secrets(text))], is_error=True)


def write_waiting(
    run_id: str,
    pending: Iterable[PendingRequest],
    respond: str,
    may_answer: Callable[[PendingRequest], bool],
    why: str = "",
) -> types.CallToolResult:
    """Return the requests of a run that waits as the result of a call.

    Args:
        run_id: id of the run.
        pending: its requests.
        respond: name of the tool that answers them.
        may_answer: returns whether that tool may answer a request.
        why: why the person was not asked by this call.
    """
    requests = tuple(pending)
    asked = [_describe_request(request) for request in requests]
    text = "\n".join(
        (
            f"The run {run_id} waits for a person. {why}".strip(),
            *(f"- {request['id']}: {request['prompt']}" for request in asked),
            *_explain_answers(requests, respond, may_answer),
            write_json(asked),
        )
    )
    structured = {"run_id": run_id, "status": "waiting", "requests": asked}
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def _explain_answers(
    requests: Sequence[PendingRequest], respond: str, may_answer: Callable[[PendingRequest], bool]
) -> Iterator[str]:
    if any(may_answer(request) for request in requests):
        yield (
            f"Ask the person, and do not answer yourself. Then call the tool {respond} with the run_id, the request_id "
            "and the answer in the shape of the schema."
        )
    if decided := [request.id for request in requests if not may_answer(request)]:
        yield f"The tool {respond} cannot answer {', '.join(decided)}. {DECIDED_BY_PEOPLE}"


def _describe_request(request: PendingRequest) -> dict[str, object]:
    request = request.mask()
    facts: Mapping[str, object] = {
        "id": request.id,
        "kind": request.kind,
        "prompt": request.prompt,
        "schema": None if request.kind == "approval" else _without_hints(request.schema),
        "deadline": request.deadline,
        "required_role": request.required_role,
        "problem": request.problem,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _without_hints(schema: JsonSchema | None) -> Schema | None:
    """Return the schema of a form without the hints for those who draw it."""
    properties = (schema or {}).get("properties")
    if schema is None or not isinstance(properties, dict):
        return None if schema is None else dict(schema)
    plain = {name: {key: value for key, value in field.items() if key != HINTS} for name, field in properties.items()}
    return {**schema, "properties": plain}


def _read_json(output: str | ToolOutput) -> object:
    """Return the value that a tool has written; the text itself, where it is none."""
    text = output.text if isinstance(output, ToolOutput) else output
    try:
        return from_json(text)
    except ValueError:
        return text


def _write_text(output: object) -> str:
    if isinstance(output, ToolOutput):
        return output.text
    return "" if isinstance(output, Image | Document) else describe_result(output)


def _list_blocks(output: object, text: str) -> Iterator[types.ContentBlock]:
    """Yield pictures and files as what they are, and all else as text."""
    if isinstance(output, ToolOutput):
        texts = (output.text,) if output.text else ()
        several: Sequence[object] = (*texts, *output.images, *output.documents)
    elif isinstance(output, list | tuple) and any(isinstance(part, Image | Document) for part in output):
        several = output
    else:
        several = ()
    for part in several:
        yield from _list_blocks(part, _write_text(part))
    if isinstance(output, Image | Document):
        yield write_block(output)
    elif not several:
        yield types.TextContent(text=text)


def _find_schema(kinds: Sequence[OutputType]) -> Schema | None:
    try:
        kind = cast("type[object]", Union[tuple(kinds)])  # noqa: UP007 - of types that are data
        schema = TypeAdapter(kind).json_schema(mode="serialization")
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return None
    root, definitions = schema.get("$ref"), schema.get("$defs", {})
    if isinstance(root, str):  # a type that contains itself
        schema = {**definitions[root.removeprefix("#/$defs/")], "$defs": definitions}
    return schema


def _wrap(schema: Schema) -> Schema:
    inner = {name: value for name, value in schema.items() if name != "$defs"}
    outer: Schema = {"type": "object", "properties": {_RESULT: inner}, "required": [_RESULT]}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer


def _with_waiting(schema: Schema, may_wait: bool) -> Schema:
    if not may_wait:
        return schema
    inner = {name: value for name, value in schema.items() if name != "$defs"}
    either: Schema = {"type": "object", "anyOf": [inner, _WAITING]}
    return {**either, "$defs": schema["$defs"]} if "$defs" in schema else either
