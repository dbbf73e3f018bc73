"""Results of calls, as clients get them: text, pictures, files and structured content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

import mcp_types as types
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import from_json

from tactician.context_format import write_json
from tactician.errors import TacticianError
from tactician.llm import Document, Image, JsonSchema
from tactician.process import HINTS
from tactician.runs import PendingRequest
from tactician.serve.mcp.blocks import write_block
from tactician.serve.mcp.limits import MOST_RESULT
from tactician.text import describe_error
from tactician.tools import ToolOutput, as_text

Schema = dict[str, object]
_RESULT: Final = "result"
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
        types: the types of the output; text and nothing have no structured form.
        may_wait: true when a client may also get the requests of a run that waits.
    """

    def __init__(self, types: Sequence[type], *, may_wait: bool) -> None:
        schema = None if not types or set(types) & {str, Image, Document, type(None)} else _find_schema(types)
        self._is_wrapped = schema is not None and schema.get("type") != "object"
        if schema is not None:
            schema = _with_waiting(_wrap(schema) if self._is_wrapped else schema, may_wait)
        self.schema = schema

    def write(self, output: object) -> types.CallToolResult:
        """Return an output as the result of a call."""
        text = _write_text(output)
        if len(text) > MOST_RESULT:
            return write_error(f"The result has {len(text):,} characters, of which {MOST_RESULT:,} may be sent.")
        blocks = list(_list_blocks(output, text))
        if self.schema is None:
            return types.CallToolResult(content=blocks)
        value = from_json(write_json(output))
        return types.CallToolResult(
            content=blocks, structured_content={_RESULT: value} if self._is_wrapped else value, is_error=False
        )


def write_error(error: BaseException | str) -> types.CallToolResult:
    """Return an error as the result of a call, which a model reads and can mend."""
    text = error if isinstance(error, str) else str(error) if isinstance(error, TacticianError) else ""
    if not text and isinstance(error, BaseException):
        text = describe_error(error)
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def write_waiting(run_id: str, pending: Iterable[PendingRequest], respond: str, why: str = "") -> types.CallToolResult:
    """Return the requests of a run that waits as the result of a call.

    Args:
        run_id: id of the run.
        pending: its requests.
        respond: name of the tool that answers them.
        why: why the person was not asked by this call.
    """
    asked = [_describe_request(request) for request in pending]
    text = "\n".join(
        (
            f"The run {run_id} waits for a person. {why}".strip(),
            *(f"- {request['id']}: {request['prompt']}" for request in asked),
            f"Ask the person, and do not answer yourself. Then call the tool {respond} with the run_id, the request_id "
            "and the answer in the shape of the schema.",
            write_json(asked),
        )
    )
    structured = {"run_id": run_id, "status": "waiting", "requests": asked}
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def _describe_request(request: PendingRequest) -> dict[str, object]:
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


def _write_text(output: object) -> str:
    if isinstance(output, ToolOutput):
        return output.text
    return "" if isinstance(output, Image | Document) else as_text(output)


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


def _find_schema(kinds: Sequence[type]) -> Schema | None:
    try:
        adapter: TypeAdapter[object] = TypeAdapter(reduce(or_, kinds))
        schema = adapter.json_schema(mode="serialization")
    except PydanticUserError:
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
