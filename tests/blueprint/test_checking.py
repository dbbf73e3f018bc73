"""Mistakes of form and those that only building finds, in one error."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from tactician import Agent, Blueprint
from tactician.agents import BaseRunnable
from tactician.blueprint import Builder, Limits
from tactician.blueprint.blueprint import KINDS, Node
from tactician.errors import BlueprintError, Problem
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW, KEYS
from tests.blueprint.test_examples import ROUTER, agent


def refused(file: Path, environment: Mapping[str, str] = KEYS) -> tuple[Problem, ...]:
    with pytest.raises(BlueprintError) as caught:
        Blueprint.load(file, allow=ALLOW, environment=environment)
    assert str(file) in str(caught.value)
    return caught.value.problems


def told(data: Mapping[str, object], folder: Path) -> dict[str, str]:
    file = folder / "one.json"
    file.write_text(json.dumps(data), "utf-8")
    return {one.path: one.message for one in refused(file)}


def test_what_is_right_is_built(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(agent("A", toolClassNames=["tests.blueprint.acme.look_up", "mine"])))
    made = Blueprint.load(file, allow=ALLOW, names={"mine": acme.Echo}, environment=KEYS, root=tmp_path)
    assert isinstance(made, Agent)
    assert [tool.name for tool in made.tools] == ["look_up", "echo"]
    with pytest.raises(BlueprintError, match="more than 20 characters"):
        Blueprint.load(file, limits=Limits(size=20))


def test_the_mistakes_of_both_with_their_lines_in_the_text(tmp_path: Path) -> None:
    file = tmp_path / "support.yaml"
    file.write_text(
        """
type: agent
name: Support
modle: m
instructions: i
maxTurns: many
toolClassNames: [acme.nothing, 5, acme.neither]
inputGuardrails:
- {}
- registryId: nope
- 5
- registryId: neither
handoffs:
- name: not a name
  target: {type: agent, name: x, model: "${NOPE}", maxTurns: 1}
responder: {provider: OPEN_ROUTER}
"""
    )
    assert [(one.line, one.path) for one in refused(file, {})] == [
        (2, "model"),
        (6, "maxTurns"),
        (7, "toolClassNames[1]"),
        (14, "handoffs[0].name"),
        (14, "handoffs[0].description"),
        (15, "handoffs[0].target.instructions"),
        (9, "inputGuardrails[0]"),
        (11, "inputGuardrails[2]"),
        (4, "modle"),
        (7, "toolClassNames[0]"),
        (7, "toolClassNames[2]"),
        (10, "inputGuardrails[1]"),
        (12, "inputGuardrails[3]"),
        (15, "handoffs[0].target.model"),
        (16, "responder.apiKeyEnvVar"),
    ]


def test_nothing_is_told_twice_nor_of_what_is_not_in_the_text(tmp_path: Path) -> None:
    """Placeholders are none of the user's: nothing is said of them."""
    broken: list[dict[str, object]] = [
        {"type": "agent"},
        {"type": "router"},
        {"type": "supervisor", "toolClassNames": []},
        {**agent("S"), "type": "supervisor", "workers": [5]},
        {**agent("S"), "handoffs": [{"name": "a", "description": "d"}, {"name": "a b", "description": "d"}]},
        {"type": "network", "peers": [5, agent("A", modle="m")]},
        {"type": "parallel", "members": [agent("A"), {"type": "agnt"}]},
        {"type": "hierarchical"},
        {"type": "hierarchical", "executive": 5, "departments": {"D": {}}, "maxTurns": 0},
        agent("A", instructions={"source": "file"}),
        agent("A", responder={"provider": "OPEN_ROUTER", "baseUrl": "https://acme.example"}),
        agent("A", contextManagement={"strategyType": "sliding"}),
        agent("A", contextManagement={"strategyType": "chain"}),
        {**ROUTER, "fallback": {"type": "planned"}},
        {**ROUTER, "routes": [{}, 5]},
        {**agent("A", handoffs=5), "name": None},
    ]
    for data in broken:
        with pytest.raises(BlueprintError) as caught:
            Blueprint.from_data(data)
        assert told(data, tmp_path) == {one.path: one.message for one in caught.value.problems}


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"type": "parallel", "members": [agent("A", maxTurns=0, toolClassNames=["no.one"])]}, "members[0]"),
        ({**ROUTER, "fallback": agent("A", model=5, toolClassNames=["no.one"]), "routes": []}, "fallback"),
        (
            {
                "type": "hierarchical",
                "executive": {},
                "maxTurns": 1,
                "departments": {
                    "D": {"manager": agent("M"), "workers": [agent("W", tols=1, toolClassNames=["no.one"])]}
                },
            },
            "departments.D.workers[0]",
        ),
        (
            {"type": "network", "peers": [7, agent("A", toolClassNames=["no.one"])], "maxRounds": 1},
            "peers[1]",
        ),
    ],
)
def test_what_is_inside_is_looked_at(data: Mapping[str, object], where: str, tmp_path: Path) -> None:
    assert (
        "no.one"
        in told({"name": "N", **data} if data["type"] != "hierarchical" else data, tmp_path)[
            f"{where}.toolClassNames[0]"
        ]
    )


@pytest.mark.parametrize("text", ["{", "[]", "5", '{"type": "agnt"}', '{"type": "planned"}', '{"$ref": 5}'])
def test_where_nothing_is_left_the_form_is_all(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(BlueprintError) as caught:
        Blueprint.from_file(file)
    assert refused(file) == caught.value.problems


class Odd(Blueprint):
    """Somebody's own, for which nobody knows a placeholder."""

    type: Literal["odd"] = "odd"
    members: tuple[int, ...]
    inner: Node

    def build_with(self, builder: Builder) -> BaseRunnable[object] | None:
        return builder.build_node(self.inner, "inner")


def test_types_of_ones_own_are_left_out_with_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "odd", Odd)
    right = agent("A", toolClassNames=["no.one"])
    odd: dict[str, object] = {"type": "odd", "inner": agent("B")}
    found = told({"type": "parallel", "name": "P", "members": [odd, right]}, tmp_path)
    assert found.keys() == {"members[0].members", "members[1].toolClassNames[0]"}
    for _ in range(20):
        odd = {"type": "odd", "members": [], "inner": odd}
    found = told({"type": "parallel", "name": "P", "members": [odd, right]}, tmp_path)
    assert found.keys() == {f"members[0].{'inner.' * 20}members"}


def test_of_very_many_mistakes_no_more_are_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(agent("A", toolClassNames=["no.one", *range(150)])))
    with pytest.raises(BlueprintError, match="and 50 more") as caught:
        Blueprint.load(file, environment=KEYS)
    assert [one.path for one in caught.value.problems] == [f"toolClassNames[{place}]" for place in range(1, 101)]
    assert caught.value.left_out == 50


def test_files_that_are_named_are_looked_at_in_the_same_way(tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    members = [{"$ref": "inner.json"}, {"$ref": "inner.json"}]
    file.write_text(json.dumps({"type": "parallel", "members": members}))
    inner = tmp_path / "inner.json"
    inner.write_text(json.dumps(agent("A", maxturn=1, toolClassNames=["no.one"]), indent=1))
    first, second, third, fourth = refused(file)
    assert (first.path, first.file) == ("name", str(file))
    assert (second.path, second.file, third.path) == ("members[0].$ref", str(file), "members[1].$ref")
    assert "inner.json: line" in second.message
    assert "maxturn: there is no such field" in second.message
    assert third.message == "inner.json: it is wrong: see its first mention"
    assert (fourth.path, fourth.file) == ("toolClassNames[0]", str(inner))
    assert fourth.line is not None
    assert "no.one" in inner.read_text().splitlines()[fourth.line - 1] + inner.read_text().splitlines()[fourth.line]
