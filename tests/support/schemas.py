"""Values that match a JSON schema, for property tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def instances(schema: Mapping[str, object]) -> st.SearchStrategy[object]:
    """Every kind of value that the schema allows, in the part of JSON schema that pydantic writes."""
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    return _Instances(definitions).of(schema)


class _Instances:
    def __init__(self, definitions: Mapping[str, object]) -> None:
        self._made = {f"#/$defs/{name}": st.deferred(self._later(inner)) for name, inner in definitions.items()}

    def _later(self, schema: object) -> Callable[[], st.SearchStrategy[object]]:
        return lambda: self.of(schema)

    def of(self, schema: object) -> st.SearchStrategy[object]:
        assert isinstance(schema, dict)
        if "$ref" in schema:
            return self._made[schema["$ref"]]
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        for alternatives in ("anyOf", "oneOf"):
            if alternatives in schema:
                return st.one_of([self.of(one) for one in schema[alternatives]])
        return self._typed(schema)

    def _typed(self, schema: Mapping[str, object]) -> st.SearchStrategy[object]:
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return st.text(min_size=_limit(schema, "minLength", 0), max_size=_limit(schema, "maxLength", 8))
        if kind in ("integer", "number"):
            low, high = _limit(schema, "minimum", -99), _limit(schema, "maximum", 99)
            whole = st.integers(low, high)
            return whole if kind == "integer" else whole | st.floats(low, high)
        return {"boolean": st.booleans(), "null": st.none()}.get(str(kind), JSON)

    def _array(self, schema: Mapping[str, object]) -> st.SearchStrategy[object]:
        low, high = _limit(schema, "minItems", 0), _limit(schema, "maxItems", 3)
        if isinstance(first := schema.get("prefixItems"), list):
            return st.tuples(*map(self.of, first)).map(list)
        return st.lists(self.of(schema.get("items", {})), min_size=low, max_size=min(high, low + 3))

    def _object(self, schema: Mapping[str, object]) -> st.SearchStrategy[object]:
        if not isinstance(properties := schema.get("properties"), dict):
            others = schema.get("additionalProperties")
            values = self.of(others) if isinstance(others, dict) else JSON
            return st.dictionaries(st.text(max_size=3), values, max_size=3)
        required = schema.get("required", [])
        assert isinstance(required, list)
        optional = {name: self.of(inner) for name, inner in properties.items() if name not in required}
        return st.fixed_dictionaries({name: self.of(properties[name]) for name in required}, optional=optional)


def _limit(schema: Mapping[str, object], name: str, otherwise: int) -> int:
    value = schema.get(name, otherwise)
    assert isinstance(value, int)
    return value
