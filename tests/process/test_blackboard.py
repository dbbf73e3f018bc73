"""The blackboard: ordered, typed, append-only, with hiding by identity."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import Blackboard, UserInput
from tactician.errors import ConfigurationError
from tactician.process.board.blackboard import GAVE_NOTHING


@dataclass(frozen=True)
class Note:
    text: str


class Base:
    pass


class Derived(Base):
    pass


def test_the_newest_object_of_a_type_wins() -> None:
    board = Blackboard(Note("old"), UserInput("x"), Note("new"))
    assert board.last(Note) == Note("new")
    board.add(Note("newer"))
    assert board.last(Note) == Note("newer")


def test_a_look_up_finds_subclasses_too() -> None:
    derived, base = Derived(), Base()
    assert Blackboard(base, derived).last(Base) is derived
    assert Blackboard(derived, base).last(Base) is base
    assert Blackboard(derived, base).last(Derived) is derived
    assert Blackboard(base).last(Derived) is None


def test_what_is_not_there_is_none() -> None:
    board = Blackboard()
    assert board.last(Note) is None
    assert board.find_named("draft", Note) is None
    assert board.all(Note) == []
    assert len(board) == 0


def test_all_objects_of_a_type_come_oldest_first() -> None:
    board = Blackboard(Note("1"), UserInput("x"), Note("2"))
    assert board.all(Note) == [Note("1"), Note("2")]
    assert board.objects == (Note("1"), UserInput("x"), Note("2"))


def test_an_object_is_found_by_its_name() -> None:
    board = Blackboard()
    board["draft"] = Note("old")
    board["draft"] = Note("new")
    board.add(Note("other"), "final")
    assert board["draft"] == Note("new")
    assert board.find_named("draft", Note) == Note("new")
    assert board.find_named("draft", UserInput) is None
    assert "draft" in board
    assert board.last(Note) == Note("other")


def test_a_name_of_another_type_does_not_hide_an_older_object() -> None:
    board = Blackboard()
    board["it_is"] = Note("a")
    board["it_is"] = UserInput("b")
    assert board.find_named("it_is", Note) == Note("a")


def test_an_unknown_name_is_a_key_error() -> None:
    assert "draft" not in Blackboard(Note("x"))
    with pytest.raises(KeyError, match="draft"):
        Blackboard(Note("x"))["draft"]


def test_hiding_is_by_identity_and_not_by_equality() -> None:
    first, second = Note("same"), Note("same")
    board = Blackboard(first, second)
    board.hide(second)
    assert board.last(Note) is first
    assert len(board) == 1
    board.hide(first)
    assert board.last(Note) is None


def test_an_object_equal_to_a_hidden_one_can_be_added() -> None:
    board = Blackboard(old := Note("same"))
    board.hide(old)
    board.add(new := Note("same"))
    assert board.last(Note) is new


def test_what_is_hidden_is_hidden_from_every_look_up() -> None:
    board = Blackboard()
    board["draft"] = secret = Note("secret")
    board.hide(secret)
    assert "draft" not in board
    assert board.find_named("draft", Note) is None
    assert board.objects == ()
    assert board.all(Note) == []
    assert repr(board) == "Blackboard()"
    with pytest.raises(KeyError):
        board["draft"]


def test_hiding_what_was_never_there_hides_nothing_else() -> None:
    board = Blackboard()
    for _ in range(1000):
        board.hide(Note("gone"))  # its memory, and so its id, could be used again
        board.add(Note("here"))
    assert len(board) == 1000


def test_conditions_are_false_until_they_are_set() -> None:
    board = Blackboard()
    assert not board.condition("paid")
    board.set_condition("paid", True)
    assert board.condition("paid")
    board.set_condition("paid", False)
    assert not board.condition("paid")
    assert len(board) == 0


def test_it_shows_the_types_that_it_holds() -> None:
    assert repr(Blackboard(Note("a"), UserInput("b"))) == "Blackboard(Note, UserInput)"


def test_user_inputs_are_equal_whenever_they_were_typed() -> None:
    first, second = UserInput("x"), UserInput("x")
    assert first == second
    assert first.timestamp.tzinfo is not None


@given(st.lists(st.tuples(st.sampled_from(["add", "hide", "look"]), st.integers(0, 4))))
def test_it_agrees_with_a_plain_list(operations: list[tuple[str, int]]) -> None:
    pool = [Note("same"), Note("same"), Derived(), Base(), UserInput("x")]
    board, model = Blackboard(), list[object]()
    hidden: list[object] = []
    for operation, number in operations:
        chosen = pool[number]
        if operation == "add":
            board.add(chosen)
            model.append(chosen)
            hidden = [one for one in hidden if one is not chosen]
        elif operation == "hide":
            board.hide(chosen)
            hidden.append(chosen)
        visible = [value for value in model if not any(value is other for other in hidden)]
        assert [id(value) for value in board.objects] == [id(value) for value in visible]
        assert len(board) == len(visible)
        for kind in (Note, Base, Derived, UserInput):
            fitting = [value for value in visible if isinstance(value, kind)]
            assert board.last(kind) is (fitting[-1] if fitting else None)
            assert [id(value) for value in board.all(kind)] == [id(value) for value in fitting]


def test_the_newest_is_what_was_added_last() -> None:
    board = Blackboard()
    assert board.newest is None
    board.add(first := Note("1"))
    board.add(second := Note("2"), "named")
    assert board.newest is second
    board.hide(first)
    assert board.newest is second


def test_nothing_is_newest_when_what_was_added_last_is_hidden_or_nothing_came_since() -> None:
    board = Blackboard(Note("1"), last := Note("2"))
    board.hide(last)
    assert board.newest is None
    board.show(last)
    assert board.newest is last
    board.set_condition(GAVE_NOTHING, True)
    assert board.newest is None
    copied = Blackboard.of(board.entries, board.conditions)
    assert copied.newest is None
    assert copied.objects == board.objects
    board.add(latest := Note("3"))
    assert board.newest is latest
    assert board.conditions == {}


def test_what_is_hidden_can_be_shown_again() -> None:
    board = Blackboard(first := Note("1"), second := Note("2"))
    board.hide(second)
    assert board.last(Note) is first
    board.show(second)
    assert board.last(Note) is second
    board.show(Note("never hidden"))
    assert len(board) == 2


def test_what_was_hidden_is_there_again_when_it_is_added_again() -> None:
    board = Blackboard(note := Note("1"))
    board.hide(note)
    board.add(note, "again")
    assert board.last(Note) is note
    assert board.find_named("again", Note) is note
    copied = Blackboard.of(board.entries, board.conditions)
    assert copied.last(Note) is note


def test_what_is_hidden_before_it_is_there_is_not_hidden() -> None:
    board = Blackboard()
    board.hide(note := Note("1"))
    assert board.entries == ()
    board.add(note)
    assert board.last(Note) is note


def test_nothing_is_no_object() -> None:
    board = Blackboard()
    with pytest.raises(ConfigurationError, match=r"^None cannot be added to a blackboard: add an object"):
        board.add(None)
    with pytest.raises(ConfigurationError):
        board["note"] = None
    assert board.entries == ()


def test_clearing_takes_objects_and_conditions_away() -> None:
    board = Blackboard(note := Note("1"), other := Note("2"))
    assert board.last(Note) is other
    board.hide(note)
    board.set_condition("paid", True)
    board.clear()
    assert (board.entries, board.conditions, board.last(Note), board.newest) == ((), {}, None, None)
    board.add(note)
    assert board.last(Note) is note


def test_a_condition_that_is_set_is_true_or_false() -> None:
    board = Blackboard()
    board.set_condition("paid", 1)  # type: ignore[arg-type]  # on purpose
    assert board.condition("paid") is True


def test_what_is_hidden_after_a_move_hides_nothing_else_when_it_is_read_again() -> None:
    early, late, new = Note("early"), Note("late"), Note("new")
    board = Blackboard(early, UserInput("x"), late)
    board.move(2, 1)
    restored = Blackboard.replay(board.to_changes())
    restored.add(new)
    restored.hide(new)
    assert Blackboard.replay(restored.to_changes()).all(Note) == [early, late]
