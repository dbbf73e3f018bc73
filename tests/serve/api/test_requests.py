"""Whatever is sent, the answer has a status that the OpenAPI document names, and no run is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pydantic_evals import Case, Dataset

from tactician.evals import evaluate
from tests.serve.api.serving import create_platform, find, served, start
from tests.support.effort import examples

TEXTS = st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["input", "type", "priority", "seconds", "idempotency_key", "request", "response", "reason", "agent", "message"]
    ),
    VALUES,
    max_size=4,
)
QUERIES = st.sampled_from(["limit", "skip", "status", "role", "search", "outer", "after"])
PLACES = st.sampled_from(["talker", "shop", "nobody", "THE-RUN", "..", "%00", "ä", "x" * 300])


async def fetch_document() -> dict[str, Any]:
    async with served(create_platform()) as client:
        document: dict[str, Any] = (await client.get("/api/openapi.json")).json()
    return document


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


async def test_the_document_is_complete() -> None:
    document = await fetch_document()
    schemas = document["components"]["schemas"]

    assert document["openapi"] == "3.1.0"
    own = {ref for ref in references(document["paths"]) if ref.startswith("#/components/")}
    assert {ref.rpartition("/")[2] for ref in own} <= schemas.keys()
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))
    assert document["paths"]["/api/agents/shop/runs"]["post"]["x-inputs"][0]["title"] == "Order"


async def test_answers_have_the_forms_that_the_document_says() -> None:
    document = await fetch_document()
    platform = create_platform()
    dataset = Dataset[object, object, object](name="greetings", cases=[Case(name="hello", inputs="Hello")])
    await evaluate(dataset, "talker", platform=platform, id="first")
    async with served(platform) as client:
        run_id = await start(client, "shop", {"number": 7})
        await find(client, run_id, "waiting")
        for path, methods in document["paths"].items():
            if "get" not in methods or "{conversation_id}" in path or path.endswith("/events"):
                continue
            content = methods["get"]["responses"]["200"]["content"]
            if "application/json" not in content:
                continue
            query = {"baseline": "first"} if path.endswith("/comparison") else {}
            place = path.format(run_id=run_id, agent_id="shop", evaluation_id="first")
            done = await client.get(place, params=query)
            assert done.status_code == 200, place
            schema = {**content["application/json"]["schema"], "components": document["components"]}
            jsonschema.validate(done.json(), schema)


@examples(8, HealthCheck.too_slow)
@given(st.data())
async def test_any_request_gets_a_documented_status(data: st.DataObject) -> None:
    document = await fetch_document()
    async with served(create_platform()) as client:
        run_id = await start(client, "shop", {"number": 7})
        for _ in range(12):
            path, methods = data.draw(st.sampled_from(sorted(document["paths"].items())))
            if path.endswith("/events"):
                continue  # they do not end
            method, operation = data.draw(st.sampled_from(sorted(methods.items())))
            place = re.sub(r"\{\w+\}", lambda _: data.draw(PLACES).replace("THE-RUN", run_id), path)
            body = data.draw(st.one_of(FIELDS.map(json.dumps), TEXTS))
            query = data.draw(st.dictionaries(QUERIES, TEXTS, max_size=2))
            done = await client.request(method, place, content=body.encode(), params=query)

            assert str(done.status_code) in {*operation["responses"], "404", "405", "307"}
            assert done.status_code != 500, done.text
        assert (await client.get("/livez")).status_code == 200
