"""Whatever is stored reads back equal, or is refused."""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tactician.errors import StoredStateError
from tactician.runs.values.stored_values import decode_value, encode_value
from tests.runs.kinds import KINDS, Kind, draw_portrait
from tests.support.effort import examples


@examples(300, HealthCheck.too_slow, HealthCheck.data_too_large)
@given(KINDS, st.data())
def test_what_is_stored_reads_back_equal_or_is_refused(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)
    saved = store(value, kind)
    if isinstance(saved, StoredStateError):
        assert not kind.is_plain, saved
        return
    read = decode_value(from_json(to_json(saved)), kind.hint)
    assert draw_portrait(read) == draw_portrait(value)


def store(value: object, kind: Kind) -> JsonValue | StoredStateError:
    try:
        return encode_value(value, kind.hint)
    except StoredStateError as refusal:
        return refusal
