from __future__ import annotations

from typing import Any

import pytest

from tactician.planning import UNKNOWN, Action, WorldState


def test_reads_like_a_mapping() -> None:
    world = WorldState({"rich": True, "armed": False, "raining": UNKNOWN})

    assert world["rich"] is True
    assert world.get("raining") is UNKNOWN
    assert world.get("nobody said") is None
    assert dict(world) == {"rich": True, "armed": False, "raining": UNKNOWN}
    assert "armed" in world
    assert "nobody said" not in world
    assert len(world) == 3


@pytest.mark.parametrize("wanted", [True, False])
def test_unknown_and_absent_conditions_satisfy_nothing(wanted: bool) -> None:
    world = WorldState({"raining": UNKNOWN})

    assert not world.satisfies({"raining": wanted})
    assert not world.satisfies({"nobody said": wanted})
    assert world.satisfies({})


def test_unknown_is_falsy_and_names_itself() -> None:
    assert not UNKNOWN
    assert repr(UNKNOWN) == "UNKNOWN"


def test_equal_by_value() -> None:
    assert WorldState({"a": True, "b": False}) == WorldState({"b": False, "a": True})
    assert len({WorldState({"a": True}), WorldState({"a": True}), WorldState({"a": False})}) == 2
    assert WorldState({"a": True}) != {"a": True}


def test_changes_give_a_new_world() -> None:
    conditions = {"rich": True}
    world = WorldState(conditions)
    conditions["rich"] = False

    assert world.with_({"it:Gun": True}, rich=UNKNOWN) == WorldState({"rich": UNKNOWN, "it:Gun": True})
    assert world.apply(Action("pay", effects={"rich": False, "paid": True})) == WorldState(
        {"rich": False, "paid": True}
    )
    assert world == WorldState({"rich": True})


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ({"rich": True, "armed": "yes"}, "condition 'armed' of a WorldState must be True, False or UNKNOWN, not 'yes'"),
        ({"rich": 1}, "condition 'rich' of a WorldState must be True, False or UNKNOWN, not 1"),
        (["rich"], "the conditions of a WorldState must be a mapping, as {'a': True}, not ['rich']"),
    ],
)
def test_conditions_are_true_false_or_unknown(conditions: Any, told: str) -> None:  # noqa: ANN401 - on purpose
    with pytest.raises(TypeError) as raised:
        WorldState(conditions)
    assert str(raised.value) == told


def test_so_are_those_that_change() -> None:
    with pytest.raises(TypeError, match="condition 'rich'"):
        WorldState({"rich": True}).with_(rich="no")  # type: ignore[arg-type]
