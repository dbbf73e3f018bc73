"""Keys are in no message, event, log, store or signature, whatever a provider or a proxy quotes."""

from __future__ import annotations

import html
import importlib
import inspect
import json
import logging
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from os import environ
from typing import TypeAlias
from urllib.parse import quote

import pytest

import tactician
from tactician import Agent, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.errors import ModelConnectionError, ModelError
from tactician.events import Event, event_to_json
from tactician.llm import Deployment, ModelRequest, ModelRetryPolicy, ModelRouter, UserMessage
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.images import RemoteImageModel
from tactician.llm.remote import RemoteModel
from tactician.process import OperationContext
from tactician.resilience.backoff import RetryRule
from tactician.runs.progress.store import RunStore
from tactician.stores.document import StoredDocument
from tests.support.chat_server import ChatServer, Reply, answers, completion, sends
from tests.support.modules import list_module_names
from tests.support.raw_server import RawServer
from tests.support.stored import JsonStore, load_data

KEY = 'sk-very/secret+"k&y"-é0123456789'
HI = ModelRequest((UserMessage("hi"),))
Call: TypeAlias = Callable[[RemoteModel], Awaitable[object]]


async def generating(model: RemoteModel) -> object:
    return await model.generate(HI)


async def streaming(model: RemoteModel) -> object:
    return [item async for item in model.stream(HI)]


both_ways = pytest.mark.parametrize("ask", [generating, streaming])


def shown(error: BaseException) -> str:
    return f"{error!r} {error} {''.join(traceback.format_exception(error))}"


def spellings(key: str) -> dict[str, str]:
    """The key as it may be escaped in an answer."""
    return {
        "plain": key,
        "JSON": json.dumps(key)[1:-1],
        "JSON with slashes": json.dumps(key)[1:-1].replace("/", r"\/"),
        "JSON in JSON": json.dumps(json.dumps(key))[3:-3],
        "JSON, all": "".join(f"\\u{ord(one):04x}" for one in key),
        "JSON, all in capitals": "".join(f"\\u{ord(one):04X}" for one in key),
        "URL": quote(key, safe=""),
        "URL, in part": quote(key),
        "URL, twice": quote(quote(key, safe=""), safe=""),
        "URL, all": "".join(f"%{octet:02x}" for octet in key.encode()),
        "HTML": html.escape(key),
        "HTML, all": "".join(f"&#{ord(one)};" for one in key),
        "HTML, hexadecimal": "".join(f"&#x{ord(one):x};" for one in key),
        "Python": repr(key)[1:-1],
    }


def model_at(server: ChatServer, key: str = KEY) -> RemoteModel:
    return RemoteModel("m", replace(server.endpoint(), headers={"X-Api-Key": f"Key {key}"}))


@both_ways
@pytest.mark.parametrize("spelling", spellings(KEY))
async def test_a_key_is_masked_however_it_is_escaped(server: ChatServer, ask: Call, spelling: str) -> None:
    quoted = spellings(KEY)[spelling]
    page = f"<p>No access with {quoted}. Sorry.</p>".encode()
    message = {"error": {"message": f"No access with {quoted}. Sorry.", "code": f"x {quoted}"}}
    for status, body in ((502, page), (401, message)):
        server.will(answers(body, status))
        with pytest.raises(ModelError) as raised:
            await ask(model_at(server))
        assert "No access with ***. Sorry." in str(raised.value)
        for one in (KEY, quoted, KEY[:12], quoted[:20]):
            assert one not in shown(raised.value)


@both_ways
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"bad {KEY}", "code": KEY}},
        {"error": f"bad {KEY}"},
        {"choices": [{"message": {"content": 7}}], "debug": KEY},
        {"choices": KEY},
        {"choices": [{"message": {"content": [KEY]}}]},
        {"choices": [{"message": {"content": {KEY: KEY}}, "delta": {"content": {KEY: KEY}}}]},
        f"not {KEY}".encode(),
        f'{{"choices": {KEY}'.encode(),
    ],
)
async def test_a_key_in_an_answer_that_is_wrong(server: ChatServer, ask: Call, body: object) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    server.will(answers(data) if ask is generating else sends(b"data: " + data + b"\n\n"))
    with pytest.raises(ModelError) as raised:
        await ask(model_at(server))
    for one in (KEY, json.dumps(KEY)[1:-1], KEY[:12]):
        assert one not in shown(raised.value)


@pytest.mark.parametrize("cut", range(260, 300, 3))
async def test_a_key_that_is_cut_off(server: ChatServer, cut: int) -> None:
    server.will(answers(b"<html>" + b" " * cut + f"{KEY} and more".encode(), 502))
    with pytest.raises(ModelError) as raised:
        await generating(model_at(server))
    assert KEY[:12] not in shown(raised.value)


QUERY = "sk-in-the-query-0123456789"


@both_ways
async def test_a_proxy_that_quotes_the_address(server: ChatServer, ask: Call) -> None:
    url = f"{server.url}/v1/chat/completions?key={QUERY}&tenant=our-team"
    for quoted in (url, html.escape(url), quote(url), quote(url, safe="")):
        server.will(answers(f"<p>Bad gateway: {quoted}</p>".encode(), 502))
        with pytest.raises(ModelError, match="our-team") as raised:
            await ask(RemoteModel("m", replace(server.endpoint(), url=url)))
        assert QUERY not in shown(raised.value)


@both_ways
async def test_a_head_that_is_broken_does_not_bring_the_address_into_the_error(ask: Call) -> None:
    async with RawServer(lambda: (b"nonsense \r\n\r\n",)) as server:
        model = RemoteModel("m", replace(ChatServer().endpoint(), url=f"{server.url}/secret-path?key={QUERY}"))
        with pytest.raises(ModelConnectionError) as raised:
            await ask(model)
    assert server.url in str(raised.value)
    assert QUERY not in shown(raised.value)
    assert "secret-path" not in shown(raised.value)


@both_ways
async def test_a_password_in_the_address(server: ChatServer, ask: Call) -> None:
    password = "a-long-password"
    token = b64encode(f"user:{password}".encode()).decode()
    server.will(answers(f"user:{password} or Basic {token}".encode(), 401))
    url = server.url.replace("://", f"://user:{password}@")
    with pytest.raises(ModelError) as raised:
        await ask(RemoteModel("m", replace(server.endpoint(), url=url)))
    assert server.received[0].headers["authorization"] == f"Basic {token}"
    assert str(raised.value) == "test:m: HTTP 401: user:*** or Basic ***"


async def test_vectors_and_pictures_have_no_keys_in_their_errors(server: ChatServer) -> None:
    endpoint = replace(server.endpoint(), headers={"Authorization": f"Bearer {KEY}"})
    painter = RemoteImageModel(endpoint, "m", edit_url=f"{server.url}/edits?key={QUERY}")
    picture = tactician.Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png")
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: RemoteEmbeddingModel(endpoint, "m").embed(["a"]),
        lambda: painter.generate("a cat"),
        lambda: painter.edit(picture, "a cat"),
    )
    for reply in (answers({"data": [{KEY: QUERY}]}), answers({"error": {"message": f"{KEY} {QUERY}"}}, 403)):
        for call in calls:
            server.will(reply)
            with pytest.raises(ModelError) as raised:
                await call()
            assert KEY not in shown(raised.value)
            assert call is not calls[-1] or QUERY not in shown(raised.value)


def refusals() -> tuple[Reply, ...]:
    quoted = f"key {KEY} {json.dumps(KEY)} {quote(KEY)} of http://x/?key={KEY}"
    return (
        answers({"error": {"message": quoted}}, 503),
        answers(quoted.encode(), 502),
        sends(b"data: " + json.dumps({"error": {"message": quoted, "code": 500}}).encode() + b"\n\n"),
    )


@planned_agent(description="asks a model")
class Asking:
    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput, context: OperationContext) -> str:
        return await context.ai.generate_text("hello")


async def test_no_event_no_log_and_no_store_has_the_key(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.will(*refusals(), *refusals(), *refusals(), *refusals(), answers(completion("hello")))
    retries = ModelRetryPolicy(server=RetryRule(base=0.0), malformed=RetryRule(base=0.0))
    events: list[Event] = []
    router = ModelRouter([Deployment("a", "m", model_at(server))], retries=retries, on_event=events.append)
    store = JsonStore()
    async with Platform(router, store=store, on_event=events.append) as platform:
        process = await platform.start(Asking(), "x")
        with pytest.raises(ModelError) as raised:
            await Agent("A").run("hi", context=platform.context())
    assert process.failure
    texts = [shown(raised.value), caplog.text, repr(process), str(process.failure)]
    texts += [f"{event!r} {event_to_json(event)!r}" for event in events]
    texts += [f"{document!r} {document.text}" for document in await _list_documents(store)]
    texts += [repr(await load_data(store, process.id)), repr(await RunStore(store).load_steps(process.id))]
    assert len(events) > 10
    for spelled in (KEY, json.dumps(KEY)[1:-1], quote(KEY), KEY[:12]):
        assert spelled not in "".join(texts)


async def _list_documents(store: JsonStore) -> list[StoredDocument]:
    found = [await store.load("runs", run_id) for run_id in await store.list_ids("runs")]
    assert found
    return [one for one in found if one is not None]


def _list_callables(owner: object, module: str) -> Iterator[Callable[..., object]]:
    for member in tuple(vars(owner).values()):
        member = getattr(member, "__func__", member)
        if inspect.isfunction(member):
            yield member
        elif inspect.isclass(member) and member.__module__ == module:
            yield member
            yield from _list_callables(member, module)


def test_no_signature_prints_the_environment() -> None:
    found = []
    for name in list_module_names():
        if name.endswith("__main__"):
            continue
        for one in _list_callables(importlib.import_module(name), name):
            try:
                parameters = inspect.signature(one).parameters.values()
            except (ValueError, TypeError):
                continue
            found += [f"{name}: {one}" for each in parameters if each.default is environ]
    assert found == []
