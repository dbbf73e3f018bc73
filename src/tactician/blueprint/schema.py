"""JSON Schema of blueprints, for completion and checks in editors."""

from __future__ import annotations

from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from tactician.blueprint.blueprint import KINDS
from tactician.blueprint.built_in_tools.parts import BUILT_IN_TOOL, PIPELINE_ITEM, STEP_KINDS, TOOL_KINDS
from tactician.blueprint.ensembles.task_parts import GROUP_ITEM, GROUP_KINDS, TASK_ITEM, TASK_KINDS
from tactician.blueprint.schema_base import DEFERRED, DEFERRED_IN_TEXT, Part
from tactician.documents.data import Data

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER: Final = "urn:tactician:blueprint"
_ANY: Final = "Blueprint"
_NULL: Final = {"type": "null"}
_FAMILIES: Final = {
    _ANY: (KINDS, "blueprint", "An agent or a constellation."),
    TASK_ITEM: (TASK_KINDS, "task of an ensemble", "A task, or a loop, a graph, a map-reduce or an ensemble."),
    GROUP_ITEM: (GROUP_KINDS, "group of tasks", "A loop, a graph, a map-reduce or an ensemble, which does a task."),
    BUILT_IN_TOOL: (TOOL_KINDS, "built-in tool", "A built-in tool with settings, or a pipeline."),
    PIPELINE_ITEM: (STEP_KINDS, "step of a pipeline", "A built-in tool with settings, or an adapter."),
}
"""Parts that are of one of several kinds: the kinds by name, the title and the description."""
_LATER: Final = (DEFERRED, DEFERRED_IN_TEXT)
_WRITTEN_LAST: Final = frozenset(f"#/$defs/{name}" for name in (*_FAMILIES, *(late.name for late in _LATER)))


def json_schema() -> dict[str, Data]:
    """Return the JSON Schema of all blueprints, including registered types.

    What only a look at the environment or at other files can say is not in it: `Blueprint.build` says that.
    """
    # Not in the order in which modules happened to be imported.
    kinds = dict(
        sorted((name, kind) for kinds_by_name, *_ in _FAMILIES.values() for name, kind in kinds_by_name.items())
    )
    schemas, definitions = models_json_schema(
        [(kind, "validation") for kind in kinds.values()], schema_generator=_Schema
    )
    del definitions["$defs"][Part.__name__]  # the base class of parts that are of one of several kinds
    nodes, references = definitions["$defs"], {name: schemas[kind, "validation"] for name, kind in kinds.items()}
    for name, kind in kinds.items():
        definition = nodes[str(references[name]["$ref"]).rpartition("/")[2]]
        if kind in (*KINDS.values(), *TASK_KINDS.values()):
            definition["title"] = name
        if "type" in kind.model_fields and kind.model_fields["type"].default is not None:
            properties = definition["properties"]
            definition["properties"] = {"type": properties.pop("type"), **properties}
            definition["required"] = ["type", *definition.get("required", ())]
    nodes.update((late.name, late.schema) for late in _LATER)
    for family, (kinds_by_name, title, description) in _FAMILIES.items():
        nodes[family] = {
            "title": title,
            "description": description,
            "oneOf": [
                references[name] for name in {kind: name for name, kind in sorted(kinds_by_name.items())}.values()
            ],
        }
    return {
        "$schema": DIALECT,
        "$id": IDENTIFIER,
        "title": "Blueprint",
        "description": "An agent or a constellation of agents, as Tactician reads and writes it in JSON and YAML.",
        "$ref": f"#/$defs/{_ANY}",
        "$defs": {name: _order_keys(nodes[name]) for name in sorted(nodes)},
    }


class _Schema(GenerateJsonSchema):
    """Schema generator that leaves out redundant keys and accepts `null` for missing values, as the parser does."""

    def get_schema_from_definitions(self, json_ref: JsonRef) -> JsonSchemaValue | None:
        # A definition inside another is written last, when all of its kinds are known.
        return None if json_ref in _WRITTEN_LAST else super().get_schema_from_definitions(json_ref)

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return _allow_null(self.generate_inner(schema["schema"]))

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        data = super().default_schema(schema)
        default = data.pop("default", None)
        return data if default is None or "const" in data else {**_allow_null(data), "default": default}

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value


def _allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {**schema, "anyOf": [option for option in schema["anyOf"] if option != _NULL] + [_NULL]}
    if isinstance(schema.get("type"), str) and not schema.keys() & {"enum", "const"}:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, _NULL]}


def _order_keys(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with its title and description first."""
    title = str(definition.get("title", "")).removesuffix("Part")
    first = {"title": title, "description": definition.get("description")}
    return {name: value for name, value in first.items() if value} | {
        name: value for name, value in definition.items() if name not in first
    }
