"""The points of the mandatory and capability categories of the A2A TCK, over both transports.

The ids are those of the TCK's requirements.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from tactician import Platform
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.a2a.scripted import create_scripted_agent, create_talker
from tests.serve.a2a.serving import (
    CLIENTS,
    HEADERS,
    Json,
    JsonRpc,
    RawClient,
    RefusedError,
    Rest,
    create_message,
    serve_a2a,
)

NOT_FOUND = {JsonRpc: -32001, Rest: 404}
NOT_CANCELABLE = {JsonRpc: -32002, Rest: 400}
UNSUPPORTED = {JsonRpc: -32004, Rest: 400}
BAD_CONTENT_TYPE = {JsonRpc: -32005, Rest: 400}
INVALID = {JsonRpc: -32602, Rest: 400}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    async with (
        Platform(ScriptedModel("unused"), store=MemoryStore()) as platform,
        serve_a2a(platform, create_scripted_agent(wait=0.3), create_talker()) as address,
    ):
        yield address


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.__name__)
def client(request: pytest.FixtureRequest, http: httpx.AsyncClient, url: str) -> RawClient:
    kind: type[JsonRpc] | type[Rest] = request.param
    return kind(http, url)


async def send(client: RawClient, prefix: str, text: str = "hello", **fields: object) -> Json:
    """Send a message, and return the task."""
    answer = await client.call("SendMessage", {"message": script(prefix, text, **fields)})
    task: Json = answer["task"]
    return task


def script(prefix: str, text: str = "hello", **fields: object) -> Json:
    """Return a message to the scripted agent."""
    return create_message(text, prefix, metadata={"skillId": "scripted"}, **fields)


async def collect(client: RawClient, method: str, params: Json) -> list[Json]:
    return [event async for event in client.stream(method, params)]


def states_of(events: list[Json]) -> list[str]:
    told = [event.get("task") or event.get("statusUpdate") for event in events]
    return [one["status"]["state"].removeprefix("TASK_STATE_") for one in told if one is not None]


async def test_a_message_makes_a_task_with_all_that_a_task_needs(client: RawClient) -> None:
    """CORE-SEND-001, DM-TASK-001, DM-TASK-002, DM-STATUS-001, CORE-MULTI-001, -001a, -003, DM-SERIAL-001 to -005."""
    task = await send(client, "tck-complete-task")
    other = await send(client, "tck-complete-task")
    assert task["id"] != other["id"]
    assert task["contextId"] not in ("", other["contextId"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["status"]["timestamp"].endswith("Z")
    assert task["artifacts"][0]["parts"] == [{"text": "Hello from TCK", "mediaType": "text/plain"}]


async def test_a_conversation_that_the_client_names_is_kept(client: RawClient) -> None:
    """CORE-MULTI-002, -002a."""
    task = await send(client, "tck-complete-task", contextId="my-context")
    assert task["contextId"] == "my-context"


async def test_a_task_id_that_the_client_invents_is_refused(client: RawClient) -> None:
    """CORE-MULTI-004."""
    with pytest.raises(RefusedError) as refused:
        await send(client, "tck-complete-task", taskId="invented")
    assert refused.value.code == NOT_FOUND[type(client)]


async def test_a_task_that_has_ended_takes_no_message(client: RawClient) -> None:
    """CORE-SEND-002."""
    task = await send(client, "tck-complete-task")
    with pytest.raises(RefusedError) as refused:
        await send(client, "tck-complete-task", taskId=task["id"])
    assert refused.value.code == UNSUPPORTED[type(client)]


async def test_a_media_type_that_is_not_on_the_card_is_refused(client: RawClient) -> None:
    """CORE-SEND-003."""
    message = create_message() | {"parts": [{"raw": "dGNr", "mediaType": "application/x-unsupported"}]}
    with pytest.raises(RefusedError, match="not supported") as refused:
        await client.call("SendMessage", {"message": message})
    assert refused.value.code == BAD_CONTENT_TYPE[type(client)]


@pytest.mark.parametrize("missing", ["role", "parts", "messageId"])
async def test_a_message_without_a_required_field_is_refused(client: RawClient, missing: str) -> None:
    """DM-MSG-002."""
    message = {name: value for name, value in create_message().items() if name != missing}
    with pytest.raises(RefusedError) as refused:
        await client.call("SendMessage", {"message": message})
    assert refused.value.code == INVALID[type(client)]


@pytest.mark.parametrize(
    ("prefix", "part"),
    [
        ("tck-artifact-text", {"text": "Generated text content", "mediaType": "text/plain"}),
        (
            "tck-artifact-file",
            {"raw": "R2VuZXJhdGVkIGZpbGUgY29udGVudA==", "filename": "output.txt", "mediaType": "text/plain"},
        ),
        (
            "tck-artifact-file-url",
            {"url": "https://example.com/output.txt", "filename": "output.txt", "mediaType": "text/plain"},
        ),
        ("tck-artifact-data", {"data": {"key": "value", "count": 42}, "mediaType": "application/json"}),
    ],
)
async def test_results_are_artifacts(client: RawClient, prefix: str, part: Json) -> None:
    """DM-ART-001, DM-PART-001."""
    (artifact,) = (await send(client, prefix))["artifacts"]
    assert artifact["artifactId"]
    assert artifact["parts"] == [part]


async def test_a_reply_without_a_task(client: RawClient) -> None:
    """DM-MSG-001."""
    answer = await client.call("SendMessage", {"message": script("tck-message-response")})
    assert answer["message"]["parts"][0]["text"] == "Direct message response"
    assert answer["message"]["messageId"]


async def test_a_rejected_task_says_why(client: RawClient) -> None:
    task = await send(client, "tck-reject-task")
    assert task["status"]["state"] == "TASK_STATE_REJECTED"
    assert task["status"]["message"]["parts"][0]["text"] == "rejected"


async def test_a_call_waits_for_the_end_unless_it_is_to_return_at_once(client: RawClient) -> None:
    """CORE-EXECUTION-MODE-001, -002."""
    slow = {"message": script("test-resubscribe-message-id")}
    assert (await client.call("SendMessage", slow))["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    started = await client.call("SendMessage", slow | {"configuration": {"returnImmediately": True}})
    assert started["task"]["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")


async def test_a_task_can_be_got(client: RawClient) -> None:
    """CORE-GET-001, -002."""
    task = await send(client, "tck-complete-task")
    assert await client.call("GetTask", {"id": task["id"]}) == task
    with pytest.raises(RefusedError) as refused:
        await client.call("GetTask", {"id": "unknown"})
    assert refused.value.code == NOT_FOUND[type(client)]


async def test_a_task_can_be_cancelled_until_it_has_ended(client: RawClient) -> None:
    """CORE-CANCEL-001, -002, -003."""
    task = await send(client, "tck-input-required")
    assert (await client.call("CancelTask", {"id": task["id"]}))["status"]["state"] == "TASK_STATE_CANCELED"
    for unknown, code in ((task["id"], NOT_CANCELABLE), ("unknown", NOT_FOUND)):
        with pytest.raises(RefusedError) as refused:
            await client.call("CancelTask", {"id": unknown})
        assert refused.value.code == code[type(client)]


async def test_tasks_are_listed_in_pages_newest_first(client: RawClient) -> None:
    """CORE-LIST-001 to -005."""
    context = f"listed over {type(client).__name__}"
    sent = [(await send(client, "tck-complete-task", contextId=context))["id"] for _ in range(3)]
    await send(client, "tck-complete-task", contextId="other")
    first = await client.call("ListTasks", {"contextId": context, "pageSize": 2})
    assert [task["id"] for task in first["tasks"]] == [sent[2], sent[1]]
    assert (first["totalSize"], first["pageSize"]) == (3, 2)
    assert all("artifacts" not in task for task in first["tasks"])
    token = first["nextPageToken"]
    second = await client.call(
        "ListTasks", {"contextId": context, "pageSize": 2, "pageToken": token, "includeArtifacts": True}
    )
    assert [task["id"] for task in second["tasks"]] == [sent[0]]
    assert second["nextPageToken"] == ""
    assert second["tasks"][0]["artifacts"]
    waiting = await client.call("ListTasks", {"contextId": context, "status": "TASK_STATE_INPUT_REQUIRED"})
    assert waiting["tasks"] == []
    for wrong in ({"pageSize": 0}, {"pageSize": 101}, {"pageToken": "no token"}):
        with pytest.raises(RefusedError) as refused:
            await client.call("ListTasks", wrong)
        assert refused.value.code == INVALID[type(client)]


async def test_several_messages_are_a_history_in_order(client: RawClient) -> None:
    """CORE-HIST-001 to -006, CORE-MULTI-005."""
    task = await send(client, "tck-input-required", "begin")
    for text in ("TCK history message 1", "TCK history message 2"):
        assert (await send(client, "more", text, taskId=task["id"]))["contextId"] == task["contextId"]
    ended = await send(client, "more", "that is all", taskId=task["id"])
    assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
    said = [part["text"] for message in ended["history"] for part in message["parts"][:1]]
    question = "Please go on."
    answers = ["TCK history message 1", question, "TCK history message 2", question, "that is all"]
    assert said == ["begin", question, *answers]
    assert "history" not in await client.call("GetTask", {"id": task["id"], "historyLength": 0})
    (last,) = (await client.call("GetTask", {"id": task["id"], "historyLength": 1}))["history"]
    assert last["parts"][0]["text"] == "that is all"
    short = await client.call(
        "SendMessage", {"message": script("tck-complete-task"), "configuration": {"historyLength": 0}}
    )
    assert "history" not in short["task"]


async def test_the_context_of_another_task_is_refused(client: RawClient) -> None:
    """CORE-MULTI-006."""
    task = await send(client, "tck-input-required")
    with pytest.raises(RefusedError) as refused:
        await send(client, "more", taskId=task["id"], contextId="another")
    assert refused.value.code == INVALID[type(client)]


@pytest.mark.parametrize(
    ("prefix", "kind", "content"),
    [
        ("tck-stream-001", "text", "Stream hello from TCK"),
        ("tck-stream-003", "text", "Stream task lifecycle"),
        ("tck-stream-ordering-001", "text", "Ordered output"),
        ("tck-stream-artifact-text", "text", "Streamed text content"),
        ("tck-stream-artifact-file", "raw", "R2VuZXJhdGVkIGZpbGUgY29udGVudA=="),
    ],
)
async def test_a_stream_has_the_task_its_states_and_its_result(
    client: RawClient, prefix: str, kind: str, content: str
) -> None:
    """CORE-STREAM-001 to -003, STREAM-ORDER-001, JSONRPC-SSE-001, HTTP_JSON-SSE-001."""
    events = await collect(client, "SendStreamingMessage", {"message": script(prefix)})
    assert "task" in events[0]
    assert states_of(events)[-1] == "COMPLETED"
    assert [state for state in states_of(events) if state == "COMPLETED"] == ["COMPLETED"]
    (update,) = (event["artifactUpdate"] for event in events if "artifactUpdate" in event)
    assert update["artifact"]["parts"][0][kind] == content
    assert update["lastChunk"]


async def test_pieces_of_an_answer_are_chunks_of_an_artifact(client: RawClient) -> None:
    message = create_message("say it", metadata={"skillId": "talker"})
    events = await collect(client, "SendStreamingMessage", {"message": message})
    updates = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
    assert len(updates) > 1
    assert [update.get("append", False) for update in updates] == [False, *(True for _ in updates[1:])]
    assert [update.get("lastChunk", False) for update in updates] == [*(False for _ in updates[1:]), True]
    assert "".join(update["artifact"]["parts"][0]["text"] for update in updates) == "chunk-1 chunk-2"


async def test_a_subscription_lasts_until_the_end(client: RawClient) -> None:
    """STREAM-SUB-001, -002, STREAM-ORDER-002 to -004."""
    task = await send(client, "tck-input-required")

    async def leave_early() -> Json:
        async for event in client.stream("SubscribeToTask", {"id": task["id"]}):
            return event
        raise AssertionError

    async def read_on(first: Json, stream: AsyncIterator[Json]) -> list[Json]:
        return [first, *[event async for event in stream]]

    streams = [client.stream("SubscribeToTask", {"id": task["id"]}) for _ in range(2)]
    begun = [await anext(stream) for stream in streams]
    both = [asyncio.create_task(read_on(event, stream)) for event, stream in zip(begun, streams, strict=True)]
    assert (await leave_early())["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    await send(client, "more", "go on", taskId=task["id"])
    first, second = await asyncio.gather(*both)
    assert [state for state in states_of(first) if state != "WORKING"] == ["INPUT_REQUIRED", "COMPLETED"]
    assert first[-1] == second[-1]


async def test_only_tasks_that_go_on_can_be_subscribed_to(client: RawClient) -> None:
    """STREAM-SUB-003, -004."""
    ended = await send(client, "tck-complete-task")
    for unknown, code in ((ended["id"], UNSUPPORTED), ("unknown", NOT_FOUND)):
        with pytest.raises(RefusedError) as refused:
            await collect(client, "SubscribeToTask", {"id": unknown})
        assert refused.value.code == code[type(client)]


async def test_targets_of_notifications_are_kept(client: RawClient) -> None:
    """PUSH-CREATE-001, -002, PUSH-GET-001, -002, PUSH-LIST-001, PUSH-DEL-001, -002."""
    task = (await send(client, "tck-complete-task"))["id"]
    target = {"taskId": task, "id": "mine", "url": "https://8.8.8.8/hook", "token": "t"}
    created = await client.call("CreateTaskPushNotificationConfig", target)
    assert created == target
    named = {"taskId": task, "id": "mine"}
    assert await client.call("GetTaskPushNotificationConfig", named) == target
    assert (await client.call("ListTaskPushNotificationConfigs", {"taskId": task}))["configs"] == [target]
    for _ in range(2):
        await client.call("DeleteTaskPushNotificationConfig", named)
    with pytest.raises(RefusedError) as refused:
        await client.call("GetTaskPushNotificationConfig", named)
    assert refused.value.code == NOT_FOUND[type(client)]


async def test_there_is_no_extended_card(client: RawClient) -> None:
    """CORE-CAP-003."""
    with pytest.raises(RefusedError) as refused:
        await client.call("GetExtendedAgentCard", {})
    assert refused.value.code == UNSUPPORTED[type(client)]


async def test_another_version_of_the_protocol_is_refused(http: httpx.AsyncClient, url: str) -> None:
    """VER-SERVER-002, -003."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    answer = await http.post(f"{url}/", json=call, headers={"A2A-Version": "99.0"})
    assert answer.json()["error"]["code"] == -32009
    assert (await http.get(f"{url}/tasks", headers={"A2A-Version": "99.0"})).status_code == 400


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", -32700),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Nothing", "params": {}}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 7}}', -32602),
    ],
)
async def test_malformed_calls_have_the_codes_of_json_rpc(
    http: httpx.AsyncClient, url: str, body: bytes, code: int
) -> None:
    """CORE-ERR-001, -002, JSONRPC-ERR-001 to -003, JSONRPC-FMT-001, -002."""
    headers = {"content-type": "application/json", **HEADERS}
    answer = (await http.post(f"{url}/", content=body, headers=headers)).json()
    assert (answer["jsonrpc"], answer["error"]["code"]) == ("2.0", code)
    assert answer["error"]["message"]


async def test_a_body_that_is_not_json_is_refused_by_its_type(http: httpx.AsyncClient, url: str) -> None:
    """JSONRPC-SSE-002: a web page cannot send what a browser sends without asking."""
    headers = {"content-type": "text/plain", **HEADERS}
    answer = await http.post(f"{url}/", content=b'{"jsonrpc": "2.0"}', headers=headers)
    assert answer.json()["error"]["code"] == -32005
    own = await http.post(f"{url}/talker/", content=b'{"jsonrpc": "2.0"}', headers=headers)
    assert own.json()["error"]["code"] == -32005
    for path in ("/message:send", "/talker/message:send"):
        assert (await http.post(f"{url}{path}", content=b"{}", headers=headers)).status_code == 415


async def test_errors_over_http_name_their_reason(http: httpx.AsyncClient, url: str) -> None:
    """HTTP_JSON-ERR-001, -002, HTTP_JSON-STATUS-001, HTTP_JSON-SVC-001, -002, HTTP_JSON-QP-001, HTTP_JSON-URL-001."""
    answer = await http.get(f"{url}/tasks/unknown", headers=HEADERS)
    error = answer.json()["error"]
    assert (answer.status_code, error["status"]) == (404, "NOT_FOUND")
    assert error["details"][0]["reason"] == "TASK_NOT_FOUND"
    assert "json" in answer.headers["content-type"]


async def test_the_card_can_be_kept_by_clients(http: httpx.AsyncClient, url: str) -> None:
    """CARD-DISC-001, CARD-STRUCT-001, CARD-PROTO-001, -002, BIND-FIELD-001, CARD-CACHE-001 to -003."""
    place = f"{url}/.well-known/agent-card.json"
    answer = await http.get(place)
    card = answer.json()
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["last-modified"].endswith("GMT")
    assert (await http.get(place, headers={"if-none-match": answer.headers["etag"]})).status_code == 304
    assert [skill["id"] for skill in card["skills"]] == ["scripted", "talker"]
    bindings = {one["protocolBinding"]: one["protocolVersion"] for one in card["supportedInterfaces"]}
    assert bindings == {"JSONRPC": "1.0", "HTTP+JSON": "1.0"}
    assert {"name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes"} <= card.keys()


async def test_a_request_that_is_too_long_is_refused(http: httpx.AsyncClient, url: str) -> None:
    answer = await http.post(
        f"{url}/", content=b" " * 10_000_001, headers={"content-type": "application/json", **HEADERS}
    )
    assert answer.status_code == 413
