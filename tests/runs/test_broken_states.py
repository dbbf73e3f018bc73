"""Stored state that somebody has changed, or a disk has damaged, is a `StoredStateError` that says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tactician.errors import StoredStateError
from tactician.llm import UserMessage
from tactician.loop.state import TurnState
from tactician.process import Blackboard
from tactician.process.board.board_changes import BoardChange
from tactician.runs import RunContext
from tactician.testing import ScriptedModel


@pytest.mark.parametrize("change", [BoardChange("add", (), "x"), BoardChange("move", (1,))])
def test_a_change_of_a_blackboard_without_numbers(change: BoardChange) -> None:
    with pytest.raises(StoredStateError, match=f"a change of the kind '{change.kind}' lacks numbers"):
        Blackboard.replay([change])


@pytest.mark.parametrize("state", [[], "text", None, 17])
def test_a_state_of_a_loop_that_is_no_mapping(state: Any) -> None:  # noqa: ANN401 - that is what is tested
    with pytest.raises(StoredStateError, match="and no mapping"):
        TurnState.restore(state)


def test_a_state_of_a_loop_with_half_of_a_surrogate_pair() -> None:
    context = RunContext.over(ScriptedModel()).child("Clerk")
    data = TurnState.begin([UserMessage("Hi")], None, context).to_data()
    data |= {"messages": [{"role": "user", "parts": [{"text": "\ud800"}]}]}

    with pytest.raises(StoredStateError, match="The saved state of a run cannot be read"):
        TurnState.restore(data)
