"""The JSON form of traces, and back."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import toon_format
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tactician.errors import StoredStateError
from tactician.trace import Trace
from tactician.trace.node import ModelUse, TraceNode, TraceNote, TracePause
from tests.trace.support import run_newsroom

texts = st.text(max_size=12)
times = st.floats(0, 4e9)
counts = st.integers(0, 10**9)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(texts, inside, max_size=3),
    max_leaves=5,
)
contents = st.dictionaries(texts, plain, max_size=3)
uses = st.builds(ModelUse, texts, counts, st.none() | counts, st.none() | counts, counts, st.none() | times, counts)
notes = st.builds(TraceNote, texts, times, texts, contents)


@st.composite
def trees(draw: st.DrawFn) -> tuple[TraceNode, ...]:
    """Trees whose nodes have ids of their own."""
    number = 0

    def node(depth: int) -> TraceNode:
        nonlocal number
        number += 1
        own = f"n{number}"
        children = tuple(node(depth + 1) for _ in range(draw(st.integers(0, 3 if depth < 3 else 0))))
        return TraceNode(
            own,
            draw(texts),
            draw(texts),
            draw(times),
            draw(st.none() | times),
            draw(texts),
            draw(texts),
            draw(st.none() | texts),
            draw(st.none() | texts),
            tuple(draw(st.lists(st.builds(TracePause, times, times), max_size=2))),
            tuple(draw(st.lists(uses, max_size=2))),
            draw(contents),
            draw(contents),
            tuple(draw(st.lists(notes, max_size=2))),
            children,
        )

    return tuple(node(0) for _ in range(draw(st.integers(0, 2))))


@given(trees())
def test_what_is_written_is_read_back_equal(roots: tuple[TraceNode, ...]) -> None:
    trace = Trace(roots)
    assert Trace.from_json(trace.to_json()) == trace


async def test_the_trace_of_a_run_is_read_back_from_a_file_of_its_owner(tmp_path: Path) -> None:
    trace, path = (await run_newsroom("full")).trace, tmp_path / "trace.json"
    trace.to_json(path)
    assert Trace.from_json(path) == trace
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("export", [Trace.to_json, Trace.to_toon, Trace.to_html])
def test_no_export_has_a_secret(export: Callable[[Trace], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "a-password-of-this-machine")
    secrets = ("sk-proj-aBcDeFgHiJkLmNoPqRsTuVwX", "a-password-of-this-machine")
    said = " and ".join(secrets)
    node = TraceNode(
        "1", "tool", said, 0.0, 1.0, error=said, facts={"outputs": [said]}, content={"arguments": {"text": said}}
    )
    text = export(Trace([replace(node, notes=(TraceNote("Said", 0.5, said, {"text": said}),))]))
    assert [secret for secret in secrets if secret in text] == []
    assert text.count("*** and ***") >= 6


@pytest.mark.parametrize("export", [Trace.to_json, Trace.to_toon, Trace.to_html])
def test_every_export_takes_what_no_file_takes(export: Callable[[Trace, Path], str], tmp_path: Path) -> None:
    content: dict[str, JsonValue] = {"answer": {"lone \ud800": ["\udfff"]}}
    trace = Trace([TraceNode("1", "run", "\ud800", 0.0, 1.0, error="\ud83d", content=content)])
    export(trace, tmp_path / "trace")
    assert "lone " in (tmp_path / "trace").read_text(encoding="utf-8")


def test_a_trace_with_a_lone_surrogate_is_toon_and_read_back_from_json() -> None:
    trace = Trace([TraceNode("1", "run", "a\ud800", 0.0, 1.0)])
    assert toon_format.decode(trace.to_toon()) == json.loads(trace.to_json())
    assert Trace.from_json(trace.to_json()).roots[0].name == "a\ufffd"


def test_a_deep_tree_is_written_and_read() -> None:
    node = TraceNode("0", "run", "deepest", 0.0)
    for depth in range(1, 3000):
        node = TraceNode(str(depth), "run", "deep", 0.0, children=(node,))
    trace = Trace([node])
    assert len(list(Trace.from_json(trace.to_json()).walk())) == 3000
    assert len(list(Trace.from_json(trace.to_json()).walk())) == len(list(trace.walk()))


NODE = {"id": "a", "kind": "run", "name": "", "started": 0}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("not JSON", "not a trace of version 1"),
        ({"format": "other", "version": 1, "nodes": []}, "format: Input should be 'tactician-trace'"),
        ({"format": "tactician-trace", "version": 2, "nodes": []}, "version: Input should be 1"),
        ({"format": "tactician-trace", "version": 1, "nodes": [{}]}, "nodes.0.id: Field required"),
        ({"format": "tactician-trace", "version": 1, "nodes": [NODE, NODE]}, "the node 'a' is there twice"),
        ({"format": "tactician-trace", "version": 1, "nodes": [NODE | {"parent": "a"}]}, "in no other one"),
    ],
)
def test_what_is_no_trace_is_refused(document: object, why: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(StoredStateError, match=why):
        Trace.from_json(text)
