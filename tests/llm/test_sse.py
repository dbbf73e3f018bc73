from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.llm.wire.sse import SseDecoder


def decode(pieces: Iterable[bytes]) -> list[str]:
    decoder = SseDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [*events, *decoder.close()]


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes in pieces, cut at any places."""
    places = sorted(draw(st.sets(st.integers(0, len(data)), max_size=12)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


LINES = st.sampled_from(
    [
        "data: {}",
        "data:x",
        "data: Grüße 世界 🌍",
        "data:",
        "data: ",
        "data:  two",
        ": comment",
        "event: e",
        "",
        "",
        "\ud7ff",
    ]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])), max_size=12).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)


@given(data=st.data(), stream=STREAMS | st.binary(max_size=60))
def test_the_result_does_not_depend_on_where_the_bytes_are_cut(data: st.DataObject, stream: bytes) -> None:
    whole = decode([stream])

    assert decode(data.draw(cuts(stream))) == whole
    assert decode(bytes([one]) for one in stream) == whole


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_was_written_is_read(events: list[str], newline: str) -> None:
    stream = "".join(f"data: {event}{newline}{newline}" for event in events)

    assert decode([stream.encode()]) == events


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\n\n\ndata: b\n\n", ["a", "b"]),
        (b"data:  a\n\n", [" a"]),
        (b": hi\nevent: x\n\n", []),
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"", []),
    ],
)
def test_the_rules_of_the_format(stream: bytes, events: list[str]) -> None:
    assert decode([stream]) == events
