"""Roles of agents that are made for tasks."""

from __future__ import annotations

import pytest

from tactician import Ensemble, Task
from tactician.ensemble.tasks.default_agent import choose_role


@pytest.mark.parametrize(
    ("description", "role"),
    [
        ("Sum up the findings", "Summarizer"),
        ("Now sum up", "Summarizer"),
        ("Sum the invoices", "Calculator"),
        ("Find the sum of the invoices", "Researcher"),
        ("Do it", "Specialist"),
    ],
)
def test_the_role_follows_from_the_verb(description: str, role: str) -> None:
    assert choose_role(description) == role
    [member] = Ensemble("E", [Task(description)]).composition
    assert member.runnable.name == role
