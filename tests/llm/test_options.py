from __future__ import annotations

import pytest

from tactician import LlmOptions
from tactician.llm import NO_OPTIONS


def test_what_is_not_said_comes_from_the_base() -> None:
    base = LlmOptions(temperature=0.2, max_tokens=9, timeout=3)

    assert LlmOptions(temperature=0.0).with_defaults(base) == LlmOptions(temperature=0.0, max_tokens=9, timeout=3)
    assert NO_OPTIONS.with_defaults(base) == base
    assert base.with_defaults(NO_OPTIONS) is base


@pytest.mark.parametrize("chosen", [LlmOptions(model="a"), LlmOptions(role="a")])
def test_a_model_or_a_role_replaces_both(chosen: LlmOptions) -> None:
    merged = chosen.with_defaults(LlmOptions(model="b", role="c", top_p=0.5))

    assert (merged.requested_model, merged.top_p) == (chosen.requested_model, 0.5)


def test_a_model_wins_over_a_role() -> None:
    assert LlmOptions(model="m", role="r").requested_model == "m"
    assert LlmOptions(role="r").requested_model == "role:r"
    assert NO_OPTIONS.requested_model is None
