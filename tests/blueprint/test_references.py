"""What files that name others may take together."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tactician import Blueprint
from tactician.blueprint import Limits
from tactician.blueprint.references import resolve_references
from tactician.errors import Problem
from tests.blueprint.constellations import KEYS
from tests.blueprint.test_examples import agent


def naming(folder: Path, inner: Mapping[str, object], times: int) -> Blueprint:
    """A blueprint that names the same other one several times."""
    (folder / "inner.json").write_text(json.dumps(inner))
    said = {"type": "parallel", "name": "P", "members": [{"$ref": "inner.json"}] * times}
    (folder / "outer.json").write_text(json.dumps(said))
    return Blueprint.from_file(folder / "outer.json")


def find_problems(blueprint: Blueprint, limits: Limits) -> list[Problem]:
    built = list(blueprint.problems(environment=KEYS, limits=limits))
    assert [one.message for one in resolve_references(blueprint, limits=limits).problems] == [
        one.message for one in built
    ]
    return built


GROUPS = agent("A", toolGroups=[f"group_{number}" for number in range(100)])


def test_values_count_each_time_they_are_named(tmp_path: Path) -> None:
    blueprint = naming(tmp_path, GROUPS, 5)
    assert find_problems(blueprint, Limits(values=1_000)) == []
    first, second = find_problems(blueprint, Limits(values=400))
    assert (first.path, second.path) == ("members[3].$ref", "members[4].$ref")
    assert first.message == "inner.json: with it, the files that are named have more than 400 values"


def test_characters_count_each_time_they_are_named(tmp_path: Path) -> None:
    size = len(json.dumps(GROUPS))
    blueprint = naming(tmp_path, GROUPS, 5)
    assert find_problems(blueprint, Limits(size=5 * size)) == []
    (problem,) = find_problems(blueprint, Limits(size=5 * size - 1))
    assert problem.path == "members[4].$ref"
    assert problem.message.endswith(f"the files that are named have more than {5 * size - 1:,} characters")


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint = naming(tmp_path, GROUPS, 5)
    opened: list[str] = []
    actual = os.open

    def noted(path: str, flags: int) -> int:
        opened.append(Path(path).name)
        return actual(path, flags)

    monkeypatch.setattr(os, "open", noted)
    blueprint.build(environment=KEYS)
    assert opened == ["inner.json"]


def test_a_mistake_in_a_file_is_told_once(tmp_path: Path) -> None:
    blueprint = naming(tmp_path, agent("A", toolClassNames=["no.one"]), 3)
    assert [one.path for one in blueprint.problems(environment=KEYS)] == ["toolClassNames[0]"]
