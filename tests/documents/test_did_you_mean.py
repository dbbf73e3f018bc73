"""Suggestions for names that are unknown."""

from __future__ import annotations

import pytest

from tactician.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [("sales", ["Sales", "Sale"], " Did you mean 'Sales'?"), ("Salse", ["Sales"], " Did you mean 'Sales'?")],
)
def test_a_name_in_another_case_is_the_first_that_is_meant(name: str, known: list[str], meant: str) -> None:
    assert did_you_mean(name, iter(known)) == meant


def test_nothing_similar_is_no_suggestion() -> None:
    assert did_you_mean("zebra", ["Sales"]) == ""
