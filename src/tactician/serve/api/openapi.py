"""OpenAPI 3.1 document of the server, made of its operations and of what its agents take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from tactician.runs import Runnable
from tactician.serve.api.agents import needs_input
from tactician.serve.api.forms.forms import Form, ProblemForm, RunForm, StartForm
from tactician.serve.api.forms.views import show_agent
from tactician.serve.api.serving.operations import ApiOperation

_REFERENCE: Final = "#/components/schemas/{model}"
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_PROBLEMS: Final[Mapping[str, str]] = {
    "400": "No picture",
    "401": "No valid token",
    "403": "Not allowed",
    "404": "Not found",
    "408": "The body did not come in time",
    "409": "It has ended, or somebody else is at it",
    "413": "Too long",
    "421": "Another host",
    "422": "Not valid",
    "429": "Too many requests",
    "500": "The run failed",
    "502": "A model failed",
    "503": "Not ready, or too busy",
    "504": "Too slow",
}

_ANYTHING: Final[JsonValue] = ["string", "number", "boolean", "object", "array"]
"""Types of JSON values but for null."""
JsonObject: TypeAlias = dict[str, JsonValue]


def build_openapi(operations: Iterable[ApiOperation], agents: Mapping[str, Runnable]) -> JsonObject:
    """Return the document."""
    all_operations = list(operations)
    definitions = _describe_forms(
        {form for one in all_operations for form in (one.answer, one.body) if form is not None}
    )
    paths: dict[str, JsonObject] = {}
    for operation in all_operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    for agent_id, agent in agents.items():
        paths[f"/api/agents/{agent_id}/runs"] = {"post": _describe_start(agent_id, agent)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tactician", "version": version("tactician")},
        "security": [{"token": []}, {}],
        "paths": dict(paths),
        "components": {
            "schemas": definitions,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_forms(forms: Iterable[type[Form]]) -> JsonValue:
    described_forms: set[type[Form]] = {*forms, ProblemForm}
    ordered = sorted(described_forms, key=lambda form: form.__name__)
    models: list[tuple[type[BaseModel], Literal["serialization"]]] = [(form, "serialization") for form in ordered]
    _, definitions = models_json_schema(models, ref_template=_REFERENCE)
    described: JsonValue = definitions["$defs"]
    return described


def _describe(operation: ApiOperation) -> JsonObject:
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _describe_parameters(operation),
        "responses": _describe_responses(operation),
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _as_json(operation.body)}
    return described


def _describe_parameters(operation: ApiOperation) -> list[JsonValue]:
    inside: list[JsonValue] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "maxLength": 200}}
        for name in _PARAMETER.findall(operation.path)
    ]
    return inside + [
        {
            "name": name,
            "in": "query",
            "description": purpose,
            "schema": operation.query_types.get(name, {"type": "string"}),
        }
        for name, purpose in operation.query.items()
    ]


def _describe_responses(operation: ApiOperation) -> JsonObject:
    content = {operation.media_type: {}} if operation.answer is None else _as_json(operation.answer)
    return {str(operation.status): {"description": operation.summary, "content": content}, **_describe_problems()}


def _describe_problems() -> JsonObject:
    return {status: {"description": meaning, "content": _as_json(ProblemForm)} for status, meaning in _PROBLEMS.items()}


def _describe_start(agent_id: str, agent: Runnable) -> JsonObject:
    """Return the operation that starts a single agent, with the forms of its inputs."""
    shown = show_agent(agent_id, agent)
    inputs: list[JsonValue] = [{"type": "string"}] if shown.takes_text else []
    inputs += [{"title": kind.type, "form": kind.form} for kind in shown.inputs]
    body: JsonValue = {"$ref": _REFERENCE.format(model=StartForm.__name__)}
    if needs_input(agent) or not shown.takes_text:
        input_form: JsonValue = {"properties": {"input": {"type": _ANYTHING}}, "required": ["input"]}
        body = {"allOf": [body, input_form]}
    return {
        "operationId": f"start_{agent_id}",
        "summary": f"Start a run of {shown.name}",
        "description": shown.description,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "x-inputs": inputs,
        "responses": {"202": {"description": "The run", "content": _as_json(RunForm)}, **_describe_problems()},
    }


def _as_json(form: type[Form]) -> dict[str, JsonValue]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=form.__name__)}}}
