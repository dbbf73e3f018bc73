"""Errors about agents of other programs quote what these say, and command nothing on a terminal."""

from __future__ import annotations

import pytest

from tactician.a2a import RemoteCardError, RemoteUnavailableError


@pytest.mark.parametrize("kind", [RemoteCardError, RemoteUnavailableError])
def test_control_codes_of_others_are_escaped(kind: type[RemoteCardError | RemoteUnavailableError]) -> None:
    assert str(kind("the agent \x1b[2J\u202eEvil\x07")) == "the agent \\x1b[2J\\u202eEvil\\x07"
