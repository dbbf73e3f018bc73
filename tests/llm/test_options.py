from __future__ import annotations

import re

import pytest

from tactician import LlmOptions
from tactician.errors import ConfigurationError
from tactician.llm.options import NO_OPTIONS


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -4),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", "0.5"),
        ("temperature", True),
        ("top_p", 1.01),
        ("top_p", -0.1),
        ("top_k", 0),
        ("top_k", 1.5),
        ("max_tokens", 0),
        ("seed", -1),
        ("seed", 2**31),
        ("max_tokens", -1),
        ("timeout", 0),
        ("timeout", float("inf")),
        ("fallbacks", "local"),
        ("instances", ("eu", 7)),
        ("native_tools", "web_search"),
    ],
)
def test_what_no_model_accepts_is_refused_where_it_is_said(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"^LlmOptions\.{name} is {re.escape(repr(value))}; "):
        LlmOptions(**{name: value})  # type: ignore[arg-type]


def test_what_some_model_accepts_is_kept() -> None:
    options = LlmOptions(temperature=7.5, top_p=0, top_k=1, max_tokens=1, timeout=0.001, fallbacks=["a"])  # type: ignore[arg-type]

    assert options == LlmOptions(temperature=7.5, top_p=0, top_k=1, max_tokens=1, timeout=0.001, fallbacks=("a",))
    assert hash(options)
