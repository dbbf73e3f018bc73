"""Whatever a client sends, the answer is an error with a documented status, or a stream in order."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.serve.ag_ui.newsroom import Json, ask, create_platform, read_stream, served
from tests.serve.ag_ui.order import check_order
from tests.serve.api.test_requests import TEXTS, VALUES
from tests.support.effort import examples

CONTENTS = TEXTS | st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image"]), "text": TEXTS}), max_size=2
)
MESSAGES = st.fixed_dictionaries(
    {"id": TEXTS, "role": st.sampled_from(["user", "assistant", "tool", "system", "reasoning"])},
    optional={
        "content": CONTENTS,
        "toolCallId": st.just("c"),
        "toolCalls": st.just([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}]),
        "subagentRunId": TEXTS,
    },
)
ENTRIES = st.fixed_dictionaries(
    {
        "interruptId": st.sampled_from(["THE-INTERRUPT", ":", "a:b", ""]),
        "status": st.sampled_from(["resolved", "cancelled"]),
    },
    optional={"payload": VALUES},
)
BODIES = st.fixed_dictionaries(
    {"threadId": TEXTS, "runId": TEXTS, "messages": st.lists(MESSAGES, max_size=4)},
    optional={
        "state": VALUES,
        "forwardedProps": VALUES | st.fixed_dictionaries({"input": VALUES}, optional={"type": VALUES}),
        "context": st.lists(st.fixed_dictionaries({"description": TEXTS, "value": TEXTS}), max_size=2),
        "tools": st.lists(st.fixed_dictionaries({"name": TEXTS, "description": TEXTS}), max_size=2),
        "resume": st.lists(ENTRIES, max_size=2),
    },
)


def replace_interrupt(body: Json, interrupt_id: str) -> Json:
    entries = [
        {**entry, "interruptId": entry["interruptId"].replace("THE-INTERRUPT", interrupt_id)}
        for entry in body.get("resume", ())
    ]
    return {**body, "resume": entries} if entries else body


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"type": "data", "value": "zzz!", "mimeType": "image/png"}, "neither"),
        ({"type": "data", "value": "PGh0bWw+", "mimeType": "image/png"}, "the bytes begin like no PNG"),
        ({"type": "url", "value": "file:///etc/passwd"}, "the URL of a picture begins with https://"),
    ],
    ids=["no base64", "no picture", "a file of the server"],
)
async def test_what_is_no_picture_is_refused(source: Json, message: str) -> None:
    part = {"type": "image", "source": source}
    body = {**ask(), "messages": [{"id": "m1", "role": "user", "content": [{"type": "text", "text": "?"}, part]}]}
    async with served(create_platform()) as client:
        done = await client.post("/talker", json=body)

    assert done.status_code == 422
    assert done.json()["error"]["message"].startswith("messages: ")
    assert message in done.json()["error"]["message"]


@examples(8, HealthCheck.too_slow)
@given(st.lists(st.tuples(st.sampled_from(["newsroom", "shop", "talker", "press"]), BODIES), min_size=8, max_size=8))
async def test_any_request_is_answered_in_order(requests: list[tuple[str, Json]]) -> None:
    async with served(create_platform()) as client:
        first = await client.post("/newsroom", json=ask())
        interrupt_id = read_stream(first.text)[-1].outcome.interrupts[0].id  # type: ignore[union-attr]
        for agent, body in requests:
            done = await client.post(f"/{agent}", content=json.dumps(replace_interrupt(body, interrupt_id)))
            assert done.status_code in (200, 422), done.text
            if done.status_code == 200:
                check_order(read_stream(done.text))
