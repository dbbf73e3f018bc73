"""Repair of long arguments: bounded, as nothing else runs meanwhile."""

from __future__ import annotations

from time import process_time

import pytest

from tactician.tools.arguments import repair_arguments


@pytest.mark.parametrize("length", [250_000, 500_000, 990_000])
@pytest.mark.parametrize(("begin", "piece", "end"), [("{'x': '", "a", "'}"), ('{"x": "', 'say "hi" ', '",}')])
def test_long_mistakes_are_not_repaired(begin: str, piece: str, end: str, length: int) -> None:
    text = begin + piece * (length // len(piece)) + end
    began = process_time()
    assert repair_arguments(text) is None
    assert process_time() - began < 0.2


def test_shorter_mistakes_are_repaired_and_long_valid_arguments_are_unpacked() -> None:
    assert repair_arguments("{'x': '" + "a" * 50_000 + "'}") is not None
    valid = '{"x": "' + "a" * 500_000 + '"}'
    assert repair_arguments(f"```json\n{valid}\n```") == valid.replace(": ", ":")
