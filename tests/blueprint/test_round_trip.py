"""Whatever is built of a blueprint has the same blueprint; whatever is no blueprint is told so, and nothing else."""

import json
from contextlib import suppress
from typing import TypeAlias

from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from tactician import Blueprint
from tactician.blueprint import Limits, export_blueprint
from tactician.errors import BlueprintError
from tests.blueprint.constellations import ALLOW, HOSTS, KEYS, AnyRunnable, constellations
from tests.blueprint.test_examples import EXAMPLES
from tests.support.effort import examples

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
LIMITS = Limits(size=20_000, values=2_000, nodes=50)


def built(blueprint: Blueprint) -> AnyRunnable:
    return blueprint.build(allow=ALLOW, environment=KEYS, hosts=HOSTS)


@examples(20, *HealthCheck)
@given(constellations())
def test_a_constellation_built_again_has_the_same_blueprint(runnable: AnyRunnable) -> None:
    blueprint = runnable.to_blueprint(strict=True)

    again = built(Blueprint.from_json(blueprint.to_json()))

    assert again.to_blueprint(strict=True).to_json() == blueprint.to_json()
    assert again.name == runnable.name
    assert again.description == runnable.description
    assert Blueprint.from_yaml(blueprint.to_yaml()) == blueprint
    assert Blueprint.from_data(blueprint.to_data()) == blueprint


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
values = anything | st.sampled_from(
    ["agent", "router", "$ref", "../x.json", "os.system", "tests.blueprint.acme.Echo", "${", "${HOME}", "list[", "file"]
)
NAMES = (
    *("type", "name", "model", "routes", "target", "$ref", "source", "path", "handoffs", "outputType", "departments"),
    *("tasks", "states", "items", "map", "handler", "context", "memory", "scopes", "store", "storeEnvVar"),
)
names = st.sampled_from(NAMES)


@st.composite
def mutated(draw: st.DrawFn) -> Json:
    """A blueprint in which some things are not what they were."""
    data: Json = json.loads(json.dumps(draw(st.sampled_from(list(EXAMPLES.values())))))
    for _ in range(draw(st.integers(1, 4))):
        data = changed(draw, data)
    return data


def changed(draw: st.DrawFn, data: Json) -> Json:
    if isinstance(data, dict) and data and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(data)))
        action = draw(st.sampled_from(["in", "in", "in", "drop", "rename", "add"]))
        rest = {name: one for name, one in data.items() if name != key}
        if action == "drop":
            return rest
        if action == "rename":
            return {**rest, draw(names | st.text(max_size=9)): data[key]}
        return {**data, draw(names): draw(values)} if action == "add" else {**data, key: changed(draw, data[key])}
    if isinstance(data, list) and data and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(data) - 1))
        return [*data[:place], changed(draw, data[place]), *data[place + 1 :]]
    return draw(values)


@examples(600, *HealthCheck)
@given(mutated())
@example([])
def test_what_is_wrong_is_told_and_nothing_else(data: Json) -> None:
    with suppress(BlueprintError):
        blueprint = Blueprint.from_json(json.dumps(data), limits=LIMITS)
        made = blueprint.build(allow=ALLOW, environment=KEYS, hosts=HOSTS, limits=LIMITS)
        assert built(export_blueprint(made)).to_blueprint() == made.to_blueprint()


@examples(400)
@given(st.sampled_from([Blueprint.from_data(one).to_yaml() for one in EXAMPLES.values()]), st.data())
def test_yaml_that_is_changed_anywhere(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        until = place + data.draw(st.integers(0, 8))
        text = (
            text[:place] + data.draw(st.text("\n\t -:[]{}&*!|>%@`'\"#?,x0\x00\ud800\ufeff", max_size=5)) + text[until:]
        )
    with suppress(BlueprintError):
        Blueprint.from_yaml(text, limits=LIMITS)
