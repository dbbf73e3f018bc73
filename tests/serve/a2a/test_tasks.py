"""Tasks as durable runs: restarts, questions for people of this program, notifications, users."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tactician import Agent, Platform, RunContext, approve, runnable, tool
from tactician.a2a import RemoteAgent
from tactician.errors import ConfigurationError
from tactician.llm.messages import join_text
from tactician.process import PlanReview
from tactician.runs import RunResult
from tactician.serve import A2aSettings, a2a_app
from tactician.stores import MemoryStore, open_store
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.a2a.examples import Greeter, Seller
from tests.serve.a2a.serving import HEADERS, Json, JsonRpc, RefusedError, create_message, serve_a2a
from tests.support.waiting import eventually

ORDER = {"item": "pens", "amount": 20}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as client:
        yield client


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    async with Platform(ScriptedModel("-"), store=MemoryStore()) as created:
        yield created


def order(**fields: object) -> Json:
    return create_message() | {"parts": [{"data": ORDER}], **fields}


async def test_a_platform_without_a_store_has_no_tasks() -> None:
    with pytest.raises(ConfigurationError, match="store of the platform"):
        a2a_app(Platform(ScriptedModel("-")), "http://localhost")
    with pytest.raises(ConfigurationError, match="not an address"):
        a2a_app(Platform(ScriptedModel("-"), store=MemoryStore()), "localhost")


async def test_goals_that_are_registered_later_are_on_the_card(http: httpx.AsyncClient, platform: Platform) -> None:
    platform.register(Seller())
    async with serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": order()}))["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        platform.register(Greeter())
        card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
        assert {skill["id"] for skill in card["skills"]} == {"quote", "greet"}
        own = (await http.get(f"{url}/greet/.well-known/agent-card.json")).json()
        assert [skill["id"] for skill in own["skills"]] == ["greet"]


async def test_a_message_with_an_idempotency_key_is_taken_once(http: httpx.AsyncClient, platform: Platform) -> None:
    platform.register(Seller())
    async with serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        message = order(metadata={"idempotencyKey": "k"})
        first, second = [(await client.call("SendMessage", {"message": message}))["task"] for _ in range(2)]
        assert first == second
        answer = create_message("0.5", taskId=first["id"], metadata={"idempotencyKey": "a"})
        told = [(await client.call("SendMessage", {"message": answer}))["task"] for _ in range(2)]
        assert told[0] == told[1]
        assert len(told[0]["history"]) == 3


async def test_an_agent_remembers_what_was_said_in_a_context(http: httpx.AsyncClient, tmp_path: Path) -> None:
    model = ScriptedModel("Hello Ada.", "You are Ada.", "Who knows?", "I do not know you.")
    path = str(tmp_path / "tasks.db")
    said = list[Json]()

    async def say(text: str, context: str, *, skill: str = "host") -> None:
        async with (
            open_store(path) as store,
            Platform(model, store=store) as platform,
            serve_a2a(platform, Agent("Host"), Agent("Guide")) as url,
        ):
            metadata = {"skillId": skill, "idempotencyKey": text}
            for _ in range(2):  # sent again, a message neither runs nor counts again
                params = {"message": create_message(text, contextId=context, metadata=metadata)}
                said.append((await JsonRpc(http, url).call("SendMessage", params))["task"])

    await say("I am Ada.", "one")
    await say("Who am I?", "one")  # a server that has restarted
    await say("And here?", "one", skill="guide")
    await say("And now?", "two")

    heard = [[(message.role, join_text([message])) for message in request.messages] for request in model.calls]
    assert heard == [
        [("user", "I am Ada.")],
        [("user", "I am Ada."), ("assistant", "Hello Ada."), ("user", "Who am I?")],
        [("user", "And here?")],
        [("user", "And now?")],
    ]
    assert [task["contextId"] for task in said] == ["one"] * 6 + ["two"] * 2
    assert [len(task["history"]) for task in said] == [1] * 8


async def test_an_answer_is_kept_before_the_task_continues(http: httpx.AsyncClient, platform: Platform) -> None:
    async def slow(text: str) -> str:
        """Wait."""
        await asyncio.sleep(60)
        return text

    at_once = {"returnImmediately": True}
    platform.register(Seller())
    async with serve_a2a(platform, runnable(slow), settings=A2aSettings(poll=0.05, max_parallel=1)) as url:
        client = JsonRpc(http, url)
        asked = order(metadata={"skillId": "quote"})
        task = (await client.call("SendMessage", {"message": asked}))["task"]
        other = create_message(metadata={"skillId": "slow"})
        await client.call("SendMessage", {"message": other, "configuration": at_once})
        answer = create_message("0.5", taskId=task["id"], metadata={"idempotencyKey": "a"})
        told = (await client.call("SendMessage", {"message": answer, "configuration": at_once}))["task"]
        assert told["status"]["state"] == "TASK_STATE_WORKING"  # there is no room for it
    async with serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        done = (await client.call("SendMessage", {"message": answer}))["task"]
        assert done["artifacts"][0]["parts"][0]["data"]["price"] == 10
        assert len(done["history"]) == 3


@pytest.mark.parametrize(
    ("text", "problem"), [("maybe", "answer with yes or no"), ("\0", "cannot be stored|is not valid|yes or no")]
)
async def test_an_answer_that_does_not_fit_leaves_the_task_as_it_is(
    http: httpx.AsyncClient, platform: Platform, text: str, problem: str
) -> None:
    platform.register(Greeter())
    async with serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": create_message("Ada")}))["task"]
        with pytest.raises(RefusedError, match=problem):
            await client.call("SendMessage", {"message": create_message(text, taskId=task["id"])})
        unknown = create_message("yes", taskId=task["id"], metadata={"requestId": "other"})
        with pytest.raises(RefusedError, match="does not ask 'other'"):
            await client.call("SendMessage", {"message": unknown})
        done = (await client.call("SendMessage", {"message": create_message("Yes.", taskId=task["id"])}))["task"]
        assert done["artifacts"][0]["parts"][0]["data"] == {"text": "Hello, Ada!"}


async def test_a_plan_is_reviewed_before_it_is_followed(http: httpx.AsyncClient) -> None:
    platform = Platform(ScriptedModel("-"), store=MemoryStore(), plan_review=PlanReview()).register(Seller())
    async with platform, serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": order()}))["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert "Plan of Seller: make_quote" in task["status"]["message"]["parts"][0]["text"]
        answer = create_message() | {"parts": [{"data": {"approved": True}}], "taskId": task["id"]}
        reviewed = (await client.call("SendMessage", {"message": answer}))["task"]
        assert "Which discount" in str(reviewed["status"])


async def test_a_working_task_takes_no_message(http: httpx.AsyncClient, platform: Platform) -> None:
    gate = asyncio.Event()

    async def slow(text: str) -> str:
        """Wait."""
        await gate.wait()
        return text

    async with serve_a2a(platform, runnable(slow)) as url:
        client = JsonRpc(http, url)
        params = {"message": create_message(), "configuration": {"returnImmediately": True}}
        task = (await client.call("SendMessage", params))["task"]
        with pytest.raises(RefusedError, match="asks nothing"):
            await client.call("SendMessage", {"message": create_message(taskId=task["id"])})
        gate.set()


async def test_any_text_can_be_sent(http: httpx.AsyncClient, tmp_path: Path) -> None:
    async with (
        open_store(str(tmp_path / "runs.db")) as store,
        serve_a2a(Platform(ScriptedModel("-"), store=store).register(Greeter())) as url,
    ):
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": create_message("a\0b 🐸")}))["task"]
        assert task["status"]["message"]["parts"][0]["text"] == "Greet a\0b 🐸?"
        with pytest.raises(RefusedError):
            await client.call("SendMessage", {"message": create_message("x", contextId="a\0b")})
        call = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER",'
        half = call + b'"messageId":"m","parts":[{"text":"\\ud83d"}]}}}'
        answer = await http.post(f"{url}/", content=half, headers={"content-type": "application/json", **HEADERS})
        assert answer.json()["error"]["code"] in (-32602, -32700)


def create_careful_agent() -> Agent[str]:
    @tool(needs_approval=True)
    def remove(name: str) -> str:
        """Remove a file."""
        return f"{name} is removed"

    model = ScriptedModel(ToolCall("remove", name="a.txt"), "Removed.")
    return Agent("Careful", model=model, tools=[remove])


async def test_who_sends_a_task_does_not_approve_what_is_done_here(http: httpx.AsyncClient, platform: Platform) -> None:
    agent = create_careful_agent()
    async with serve_a2a(platform, agent) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": create_message("tidy up")}))["task"]
        assert task["status"]["state"] == "TASK_STATE_WORKING"
        with pytest.raises(RefusedError, match="asks nothing"):
            await client.call("SendMessage", {"message": create_message("yes", taskId=task["id"])})
        events = client.stream("SubscribeToTask", {"id": task["id"]})
        assert (await anext(events))["task"]["status"]["state"] == "TASK_STATE_WORKING"
        (run,) = await platform.list_waiting_runs()
        await platform.respond(run.id, run.pending[0].id, approve())
        states = [event["statusUpdate"]["status"]["state"] async for event in events if "statusUpdate" in event]
        assert states == ["TASK_STATE_COMPLETED"]


async def test_a_server_may_let_callers_approve(http: httpx.AsyncClient, platform: Platform) -> None:
    async with serve_a2a(
        platform, create_careful_agent(), settings=A2aSettings(lets_callers_approve=True, poll=0.05)
    ) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": create_message("tidy up")}))["task"]
        done = (await client.call("SendMessage", {"message": create_message("yes", taskId=task["id"])}))["task"]
        assert done["artifacts"][0]["parts"][0]["text"] == "Removed."


async def test_an_interrupted_task_continues_when_the_server_starts_again(tmp_path: Path) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    async def slow(text: str) -> str:
        """Wait."""
        begun.set()
        await gate.wait()
        return text.upper()

    async with open_store(str(tmp_path / "runs.db")) as store:
        platform = Platform(ScriptedModel("-"), store=store)
        async with serve_a2a(platform, runnable(slow)) as url:
            remote = await RemoteAgent.discover(url, idle=0.3)
            running = asyncio.create_task(remote.run("now"))
            await begun.wait()
        gate.set()
        async with serve_a2a(
            Platform(ScriptedModel("-"), store=store), runnable(slow), port=int(url.rpartition(":")[2])
        ):
            assert (await running).output == "NOW"
        assert len(await platform.runs(names=["a2a"])) == 1


def start_server(port: int, store: Path) -> subprocess.Popen[bytes]:
    """Serve the examples by the command line, in a process of its own."""
    file = str(Path(__file__).parent / "examples.py")
    options = ["--port", str(port), "--store", str(store), "--scripted"]
    return subprocess.Popen([sys.executable, "-m", "tactician", "a2a", "serve", file, *options], env=os.environ)


async def wait_for(url: str) -> RemoteAgent:
    for _ in range(300):
        try:
            return await RemoteAgent.discover(url, name="Quotes", skill="quote")
        except Exception:
            await asyncio.sleep(0.1)
    raise AssertionError("the server does not start")


async def test_a_task_that_asks_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store, url = tmp_path / "server.db", f"http://127.0.0.1:{port}"
    first = start_server(port, store)
    try:
        remote = await wait_for(url)
        async with open_store(str(tmp_path / "client.db")) as own:
            platform = Platform(ScriptedModel("-"), store=own).register(remote)
            waiting = await remote.run(ORDER, context=platform.context())
            first.send_signal(signal.SIGKILL)
            first.wait()
            second = start_server(port, store)
            try:
                await wait_for(url)
                done = await platform.respond(waiting.run_id, waiting.pending[0].id, 0.5)
                assert isinstance(done, RunResult)
                assert done.output == {"text": "20 pens", "price": 10}
            finally:
                second.kill()
                second.wait()
    finally:
        first.kill()
        first.wait()


async def test_notifications_go_to_public_addresses_only(http: httpx.AsyncClient, platform: Platform) -> None:
    platform.register(Greeter())
    async with serve_a2a(platform) as url:
        client = JsonRpc(http, url)
        task = (await client.call("SendMessage", {"message": create_message("Ada")}))["task"]["id"]
        for place in (url, "http://localhost/x", "http://169.254.169.254/", "http://10.0.0.1/", "ftp://8.8.8.8/", ""):
            with pytest.raises(RefusedError):
                await client.call("CreateTaskPushNotificationConfig", {"taskId": task, "url": place})
            target = {"taskPushNotificationConfig": {"url": place or "x"}}
            with pytest.raises(RefusedError, match="Notifications are not sent"):
                await client.call("SendMessage", {"message": create_message(), "configuration": target})
        assert len(await platform.runs(names=["a2a"])) == 1


async def test_a_change_is_told_once_whoever_continues_the_task(http: httpx.AsyncClient, platform: Platform) -> None:
    """PUSH-DELIVER-001 to -003."""
    heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    refusals = ["503 Service Unavailable"]

    async def hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].split()[0])
        await heard.put((head, (await reader.readexactly(length)).decode()))
        status = refusals.pop() if refusals else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(hook, "127.0.0.1", 0)
    place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    platform.register(Greeter())
    settings = A2aSettings(allows_private_push=True, poll=0.05)
    async with server, serve_a2a(platform, settings=settings) as url:
        target = {"url": place, "token": "t1", "authentication": {"scheme": "Bearer", "credentials": "c1"}}
        params = {"message": create_message("Ada"), "configuration": {"taskPushNotificationConfig": target}}
        await JsonRpc(http, url).call("SendMessage", params)
        head, body = await heard.get()
        assert "x-a2a-notification-token: t1" in head
        assert "authorization: bearer c1" in head
        assert "INPUT_REQUIRED" in body
        assert (await heard.get())[1] == body, "a target that was away for a moment hears it once more"
        (run,) = await platform.list_waiting_runs()
        await platform.respond(run.id, run.pending[0].id, True)
        bodies = [(await heard.get())[1] for _ in range(2)]
        assert ["artifacts" in text for text in bodies] == [True, False]
        assert "TASK_STATE_COMPLETED" in bodies[1]

        async def are_all_told() -> bool:
            return await platform.store.find("a2a_tasks", statuses=["notifying"]) == []

        await eventually(are_all_told)
        assert heard.empty()


async def test_clients_of_version_0_3_are_answered_when_wanted(http: httpx.AsyncClient, platform: Platform) -> None:
    async def echo(text: str) -> str:
        """Echo."""
        return text

    message = {"role": "user", "kind": "message", "parts": [{"kind": "text", "text": "hi"}], "messageId": "m"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    async with serve_a2a(platform, runnable(echo), settings=A2aSettings(supports_v03=True, poll=0.05)) as url:
        card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
        assert card["protocolVersion"].startswith("0.3")
        result = (await http.post(f"{url}/", json=call)).json()["result"]
        assert result["status"]["state"] == "completed"
        assert result["artifacts"][0]["parts"][0] == {"kind": "text", "text": "hi"}
    async with serve_a2a(platform, runnable(echo)) as url:
        assert "error" in (await http.post(f"{url}/", json=call)).json()


V03 = A2aSettings(supports_v03=True, poll=0.05)
TARGET = {"id": "t", "url": "https://8.8.8.8/hook"}


@pytest.mark.parametrize("path", ["/", "/greet/"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("message/send", {}),
        ("message/send", {"message": {"kind": "message"}}),
        ("message/stream", "text"),
        ("tasks/get", {"id": 7}),
        ("tasks/cancel", None),
        ("tasks/pushNotificationConfig/set", {"taskId": "x"}),
    ],
)
async def test_invalid_parameters_have_their_code_in_version_0_3(
    http: httpx.AsyncClient, platform: Platform, path: str, method: str, params: object
) -> None:
    call = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    async with serve_a2a(platform.register(Greeter()), settings=V03) as url:
        answer = (await http.post(f"{url}{path}", json=call)).json()

    assert (answer["id"], answer["error"]["code"]) == ("a", -32602)
    assert answer["error"]["data"][0]["msg"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "tasks/get"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "tasks/get"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/nothing"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "unknown"}}', -32001),
    ],
)
async def test_other_errors_keep_their_codes_in_version_0_3(
    http: httpx.AsyncClient, platform: Platform, body: bytes, code: int
) -> None:
    async with serve_a2a(platform.register(Greeter()), settings=V03) as url:
        answer = await http.post(f"{url}/", content=body, headers={"content-type": "application/json"})

    assert answer.json()["error"]["code"] == code


async def test_deleting_a_target_of_notifications_gives_null_in_version_0_3(
    http: httpx.AsyncClient, platform: Platform
) -> None:
    async def call(method: str, **params: object) -> Json:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: Json = (await http.post(f"{url}/", json=body)).json()
        return answer

    message = {"role": "user", "kind": "message", "parts": [{"kind": "text", "text": "Ada"}], "messageId": "m"}
    async with serve_a2a(platform.register(Greeter()), settings=V03) as url:
        task = (await call("message/send", message=message))["result"]["id"]
        await call("tasks/pushNotificationConfig/set", taskId=task, pushNotificationConfig=TARGET)
        deleted = await call("tasks/pushNotificationConfig/delete", id=task, pushNotificationConfigId="t")
        unknown = await call("tasks/pushNotificationConfig/delete", id="unknown", pushNotificationConfigId="t")

    assert deleted == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert unknown["error"]["code"] == -32001


async def test_a_task_belongs_to_the_user_who_sent_it(platform: Platform) -> None:
    from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser, SimpleUser
    from starlette.middleware.authentication import AuthenticationMiddleware
    from starlette.requests import HTTPConnection

    class Names(AuthenticationBackend):
        async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser]:
            return AuthCredentials(), SimpleUser(conn.headers["x-name"])

    platform.register(Greeter())
    app = AuthenticationMiddleware(a2a_app(platform, "http://test"), backend=Names())
    transport = httpx.ASGITransport(app)
    async with (
        httpx.AsyncClient(transport=transport, headers={"x-name": "ada"}) as ada,
        httpx.AsyncClient(transport=transport, headers={"x-name": "bob"}) as bob,
    ):
        own, other = JsonRpc(ada, "http://test"), JsonRpc(bob, "http://test")
        task = (await own.call("SendMessage", {"message": create_message("Ada")}))["task"]["id"]
        assert (await own.call("GetTask", {"id": task}))["id"] == task
        assert (await other.call("ListTasks", {}))["tasks"] == []
        for method in ("GetTask", "CancelTask"):
            with pytest.raises(RefusedError, match="There is no task"):
                await other.call(method, {"id": task})
        with pytest.raises(RefusedError, match="There is no task"):
            await other.call("SendMessage", {"message": create_message("yes", taskId=task)})


async def test_a_failed_task_says_why(http: httpx.AsyncClient, platform: Platform) -> None:
    async def fails(text: str, context: RunContext) -> str:
        """Fail."""
        raise ValueError("no such thing")

    async with serve_a2a(platform, runnable(fails)) as url:
        task = (await JsonRpc(http, url).call("SendMessage", {"message": create_message()}))["task"]
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        assert "no such thing" in task["status"]["message"]["parts"][0]["text"]


async def test_a_stream_that_the_client_leaves_does_not_end_the_task(
    http: httpx.AsyncClient, platform: Platform
) -> None:
    gate = asyncio.Event()

    async def slow(text: str) -> str:
        """Wait."""
        await gate.wait()
        return text

    async with serve_a2a(platform, runnable(slow)) as url:
        client = JsonRpc(http, url)
        task = ""
        async for event in client.stream("SendStreamingMessage", {"message": create_message("stay")}):
            task = event["task"]["id"]
            break
        gate.set()

        async def is_completed() -> bool:
            state: str = (await client.call("GetTask", {"id": task}))["status"]["state"]
            return state == "TASK_STATE_COMPLETED"

        await eventually(is_completed)


async def test_more_tasks_than_may_run_wait_for_their_turn(http: httpx.AsyncClient, platform: Platform) -> None:
    running = most = 0

    async def count(text: str) -> str:
        """Count."""
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.05)
        running -= 1
        return text

    async with serve_a2a(platform, runnable(count), settings=A2aSettings(max_parallel=2, poll=0.02)) as url:
        client = JsonRpc(http, url)
        tasks = await asyncio.gather(*(client.call("SendMessage", {"message": create_message()}) for _ in range(6)))
        assert {task["task"]["status"]["state"] for task in tasks} == {"TASK_STATE_COMPLETED"}
        assert most == 2
