from __future__ import annotations

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
