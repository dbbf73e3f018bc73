"""Messages of a mesh: their form, their bounds, their versions and their signatures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tactician.errors import ConfigurationError
from tactician.mesh.messages.asyncapi import create_asyncapi
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.codec import MESSAGES, MessageCodec
from tactician.mesh.messages.message import MAX_BYTES, MeshMessage, Priority
from tactician.mesh.messages.replies import MeshReply, RequestAcceptance
from tactician.mesh.messages.requests import Cancellation, Delivery, MeshRequest
from tactician.testing import FakeClock
from tests.support.npm import find_npm_package

KEY, NEXT_KEY = "k" * 32, "n" * 32
REQUEST = MeshRequest(id="order-17", sender="room-service", capability="prepare-meal", input="Wagyu", reply_to="rs")
PARSER = "@asyncapi/parser@3.6.6"
SCRIPT = """
import fs from 'node:fs';
const { Parser } = (await import(process.argv[2])).default;
const { document, diagnostics } = await new Parser().parse(fs.readFileSync(process.argv[3], 'utf8'));
const errors = diagnostics.filter((problem) => problem.severity < 2).map((problem) => problem.message);
console.log(JSON.stringify({ errors, messages: document ? document.allMessages().all().length : 0 }));
"""


def change(encoded: bytes, **attributes: JsonValue) -> bytes:
    return json.dumps({**json.loads(encoded), **attributes}).encode()


def test_a_message_is_a_cloud_event_and_comes_back() -> None:
    clock = FakeClock()
    codec = MessageCodec("room-service", clock=clock)
    trace_parent = f"00-{'a' * 32}-{'b' * 16}-01"

    encoded = codec.encode(REQUEST, trace_parent=trace_parent, trace_state="vendor=1")

    event = json.loads(encoded)
    assert (event["specversion"], event["type"]) == ("1.0", "tactician.request.v1")
    assert event["source"] == "/tactician/room-service"
    assert event["data"]["from"] == "room-service"
    envelope = codec.decode(encoded)
    assert envelope.message == REQUEST
    assert (envelope.source, envelope.sent_at) == ("room-service", clock.time())
    assert (envelope.trace_parent, envelope.trace_state) == (trace_parent, "vendor=1")


def test_fields_of_later_versions_are_ignored() -> None:
    codec = MessageCodec("kitchen")
    event = json.loads(codec.encode(REQUEST))
    event["data"]["colour"] = "red"

    assert codec.decode(change(json.dumps(event).encode(), extension="x")).message == REQUEST


@pytest.mark.parametrize(
    "attributes", [{"type": "tactician.request.v2"}, {"type": "tactician.song.v1"}, {"specversion": "2.0"}]
)
def test_an_unknown_version_or_type_says_whom_to_tell(attributes: dict[str, JsonValue]) -> None:
    codec = MessageCodec("kitchen")

    with pytest.raises(MessageError) as refused:
        codec.decode(change(codec.encode(REQUEST), **attributes))

    assert refused.value.reason == "unsupported_version"
    assert (refused.value.request_id, refused.value.reply_to) == ("order-17", "rs")


def test_a_wrong_field_is_named() -> None:
    codec = MessageCodec("kitchen")
    event = json.loads(codec.encode(REQUEST))
    event["data"]["priority"] = "URGENT"

    with pytest.raises(MessageError, match=r"priority: .*'CRITICAL', 'HIGH', 'NORMAL' or 'LOW'"):
        codec.decode(json.dumps(event).encode())


def test_messages_are_bounded() -> None:
    codec = MessageCodec("kitchen")
    nested: JsonValue = "x"
    for _ in range(61):
        nested = [nested]

    with pytest.raises(MessageError, match="1,000,000 are allowed") as refused:
        codec.encode(REQUEST.model_copy(update={"input": "x" * MAX_BYTES}))
    assert refused.value.reason == "too_large"
    for bad in (b"{" + b" " * MAX_BYTES, b"[" * 100_000, b"[]", b"{", b'{"a":NaN}', b"\xff"):
        with pytest.raises(MessageError):
            codec.decode(bad)
    with pytest.raises(MessageError, match="levels"):
        codec.decode(codec.encode(REQUEST.model_copy(update={"input": nested})))
    with pytest.raises(MessageError, match="values"):
        codec.decode(codec.encode(REQUEST.model_copy(update={"input": [0] * 100_001})))


@given(st.binary(max_size=300) | st.recursive(st.none() | st.text(), st.lists).map(lambda v: json.dumps(v).encode()))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(MessageError):
        MessageCodec("kitchen", [KEY]).decode(data)


def test_a_signed_message_is_accepted_and_a_changed_one_is_not() -> None:
    codec = MessageCodec("room-service", [KEY])
    encoded = codec.encode(REQUEST)

    assert codec.decode(encoded).message == REQUEST
    for changed in (
        change(encoded, source="/tactician/other"),
        change(encoded, signature="0" * 64),
        change(encoded, signature="é"),
        change(encoded, keyid="0"),
        MessageCodec("x").encode(REQUEST),
        MessageCodec("x", [NEXT_KEY]).encode(REQUEST),
    ):
        with pytest.raises(MessageError, match="not signed") as refused:
            codec.decode(changed)
        assert refused.value.reason == "not_allowed"
    assert KEY not in repr(codec)
    assert KEY.encode() not in encoded


@pytest.mark.parametrize("both_keys", [[KEY, NEXT_KEY], [NEXT_KEY, KEY]])
def test_keys_rotate_in_any_order_of_keys_and_programs(both_keys: list[str]) -> None:
    old, both, new = (MessageCodec("n", keys) for keys in ([KEY], both_keys, [NEXT_KEY]))

    for sender, receiver in ((old, both), (both, old), (new, both), (both, new), (both, both)):
        assert receiver.decode(sender.encode(REQUEST)).message == REQUEST
    event = json.loads(both.encode(REQUEST))
    event["data"]["capability"] = "another"
    for receiver in (old, both, new):
        with pytest.raises(MessageError, match="not signed with a key of this mesh"):
            receiver.decode(json.dumps(event).encode())
    with pytest.raises(ConfigurationError, match="at most 4 keys"):
        MessageCodec("n", [f"{KEY}-{number}" for number in range(5)])
    with pytest.raises(MessageError):
        new.decode(old.encode(REQUEST))
    with pytest.raises(ConfigurationError, match="fewer than 16"):
        MessageCodec("n", ["short"])


def test_a_signed_message_is_valid_for_a_time_and_a_command_once() -> None:
    clock = FakeClock()
    codec = MessageCodec("n", [KEY], clock)
    cancellation = codec.encode(Cancellation(request_id="order-17", sender="room-service"))
    request = codec.encode(REQUEST)

    codec.decode(cancellation)
    with pytest.raises(MessageError, match="come before"):
        codec.decode(cancellation)
    clock.advance(301)
    with pytest.raises(MessageError, match="out of date"):
        codec.decode(codec.encode(REQUEST) and cancellation)
    assert codec.decode(request).message == REQUEST, "it waited in a queue"
    clock.advance(8 * 86_400)
    with pytest.raises(MessageError, match="out of date"):
        codec.decode(request)


def test_every_message_has_a_short_form_and_comes_back() -> None:
    messages: list[MeshMessage] = [
        RequestAcceptance(request_id="r", node="kitchen", position=3, expected_end=17.5),
        MeshReply(request_id="r", node="kitchen", status="completed", output={"a": [1, None]}),
        MeshRequest(id="r", sender="a", capability="c", priority=Priority.HIGH, delivery=Delivery.topic("t")),
    ]
    codec = MessageCodec("kitchen")
    for message in messages:
        assert codec.decode(codec.encode(message)).message == message


def test_the_asyncapi_document_is_valid_by_the_official_parser(tmp_path: Path) -> None:
    document, script = tmp_path / "asyncapi.json", tmp_path / "parse.mjs"
    document.write_text(json.dumps(create_asyncapi()))
    script.write_text(SCRIPT)
    parser = find_npm_package(PARSER) / "cjs" / "index.js"

    command = ["node", str(script), str(parser), str(document)]
    said = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout

    assert json.loads(said) == {"errors": [], "messages": len(MESSAGES)}
