"""Pictures over HTTP: what goes out, what comes back, and every way in which that can go wrong."""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
from aiohttp import BodyPartReader, web

from tactician.errors import (
    AuthenticationError,
    ConfigurationError,
    MalformedResponseError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    UnsupportedFeatureError,
)
from tactician.llm import Endpoint, Image
from tactician.llm.images import ImageModel, RemoteImageModel
from tactician.llm.provider import Provider
from tactician.llm.provider_access import ProviderAccess
from tactician.llm.providers import PROVIDERS
from tests.support.chat_server import ChatServer, answers, fails

KEY = "sk-very-secret"
PNG = base64.b64encode(b"\x89PNG picture").decode()
CAT = Image.from_bytes(b"\x89PNG\r\n\x1a\n cat")


def pictures(*data: str, **more: object) -> dict[str, object]:
    return {"created": 1, "data": [{"b64_json": one} for one in data], **more}


def model(server: ChatServer, name: str = "dall-e-3") -> RemoteImageModel:
    return RemoteImageModel.at_provider(ProviderAccess(PROVIDERS["openai"], KEY, server.url), name)


async def test_the_request_and_the_answer_of_dall_e(server: ChatServer) -> None:
    server.will(answers(pictures(PNG)))

    found = await model(server).generate("a cat in space")

    assert found.images == (Image(data=PNG, media_type="image/png"),)
    received = server.received[0]
    assert received.path == "/v1/images/generations"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {
        "model": "dall-e-3",
        "prompt": "a cat in space",
        "n": 1,
        "size": "1024x1024",
        "quality": "standard",
        "response_format": "b64_json",
    }


async def test_gpt_image_is_asked_for_nothing_that_it_refuses(server: ChatServer) -> None:
    server.will(answers(pictures(PNG, PNG, output_format="webp")))

    found = await model(server, "gpt-image-1").generate("a cat", size="1536x1024", n=2)

    assert found.images == (Image(data=PNG, media_type="image/webp"),) * 2
    assert server.bodies == [
        {"model": "gpt-image-1", "prompt": "a cat", "n": 2, "size": "1536x1024", "quality": "auto"}
    ]


@pytest.mark.parametrize(
    ("name", "quality", "sent"),
    [
        ("dall-e-3", "hd", "hd"),
        ("gpt-image-1", "hd", "high"),
        ("gpt-image-1", "low", "low"),
    ],
)
async def test_the_quality_in_the_words_of_the_model(server: ChatServer, name: str, quality: str, sent: str) -> None:
    server.will(answers(pictures(PNG)))

    await model(server, name).generate("a cat", quality=quality)

    assert server.bodies[0]["quality"] == sent


async def test_a_picture_may_come_as_an_address(server: ChatServer) -> None:
    server.will(answers({"data": [{"url": "https://example.org/cat.png"}]}))

    assert (await model(server).generate("a cat")).images == (Image(url="https://example.org/cat.png"),)


async def test_azure_has_the_model_in_its_path_and_a_version(server: ChatServer) -> None:
    server.will(answers(pictures(PNG)))
    access = ProviderAccess(PROVIDERS["azure-openai"], KEY, server.url, "eu", "2025-04-01")
    azure = RemoteImageModel.at_provider(access, "my dalle")

    await azure.generate("a cat")

    received = server.received[0]
    assert received.path == "/openai/deployments/my%20dalle/images/generations?api-version=2025-04-01"
    assert received.headers["api-key"] == KEY
    assert azure.name == "eu:my dalle"


def test_it_is_an_image_model(server: ChatServer) -> None:
    assert isinstance(model(server), ImageModel)


@pytest.mark.parametrize(
    ("name", "base_url", "message"),
    [
        ("anthropic", None, "anthropic serves no images; those that do are openai, azure-openai"),
        ("azure-openai", None, "azure-openai has no fixed address; set base_url"),
        ("azure-openai", "http://127.0.0.1", "azure-openai needs api_version"),
    ],
)
def test_a_place_that_cannot_be_says_why(name: str, base_url: str | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RemoteImageModel.at_provider(ProviderAccess(PROVIDERS[name], KEY, base_url))


@pytest.mark.parametrize("prompt", ["", " \n", "\ud800"])
async def test_a_prompt_that_says_nothing_is_refused_before_any_request(server: ChatServer, prompt: str) -> None:
    for call in (model(server).generate(prompt), model(server).edit(CAT, prompt)):
        with pytest.raises(ModelRequestError, match="openai:dall-e-3: the prompt is"):
            await call

    assert server.received == []


@pytest.mark.parametrize(("n", "message"), [(0, "at least 1, not 0"), (-1, "at least 1"), (2, "must be 1, not 2")])
async def test_a_number_of_pictures_that_cannot_be(server: ChatServer, n: int, message: str) -> None:
    with pytest.raises(ModelRequestError, match=message):
        await model(server).generate("a cat", n=n)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"data": []},
        {"data": {}},
        {"data": [None]},
        {"data": ["x"]},
        {"data": [{}]},
        {"data": [{"b64_json": None, "url": None}]},
        {"data": [{"b64_json": 7}]},
        {"data": [{"b64_json": "not base64!"}]},
        {"data": [{"b64_json": "é"}]},
        pictures(PNG, "@"),
    ],
)
async def test_an_answer_without_pictures(server: ChatServer, body: object) -> None:
    server.will(answers(body))

    with pytest.raises(MalformedResponseError, match="openai:dall-e-3: the answer holds no pictures"):
        await model(server).generate("a cat")


async def test_a_prompt_that_the_provider_refuses(server: ChatServer) -> None:
    server.will(fails(400, "Your request was rejected by the safety system."))

    with pytest.raises(ModelRequestError, match="HTTP 400: Your request was rejected"):
        await model(server).generate("a cat")


async def test_an_answer_that_does_not_come_in_time(server: ChatServer) -> None:
    server.will(server.stall())
    endpoint = Endpoint("slow", f"{server.url}/v1/images/generations", timeout=0.5)

    with pytest.raises(ModelTimeoutError, match="slow:m"):
        await RemoteImageModel(endpoint, "m").generate("a cat")


# Edits go out as a form, which the chat server does not read.


@dataclass
class FormServer:
    """Remembers forms; answers with what it is told to."""

    url: str = ""
    status: int = 200
    answer: object = field(default_factory=lambda: pictures(PNG))
    paths: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    forms: list[dict[str, tuple[str | None, str | None, bytes]]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        form = {}
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            form[part.name or ""] = (part.filename, part.headers.get("Content-Type"), bytes(await part.read()))
        self.forms.append(form)
        self.paths.append(request.path_qs)
        self.headers.append(request.headers)
        if self.answer == "echo":
            return web.json_response(pictures(base64.b64encode(form["prompt"][2]).decode()))
        return web.json_response(self.answer, status=self.status)


@pytest.fixture
async def forms() -> AsyncIterator[FormServer]:
    """A server that edits pictures."""
    server = FormServer()
    application = web.Application()
    application.router.add_post("/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


def editor(forms: FormServer, name: str = "dall-e-3") -> RemoteImageModel:
    return RemoteImageModel.at_provider(ProviderAccess(PROVIDERS["openai"], KEY, forms.url), name)


async def test_the_form_of_an_edit_and_its_answer(forms: FormServer) -> None:
    photo = Image.from_bytes(b"\xff\xd8 photo", "image/jpeg")

    found = await editor(forms).edit(photo, "add sunglasses: “yes”")

    assert found.images == (Image(data=PNG, media_type="image/png"),)
    assert forms.paths == ["/v1/images/edits"]
    assert forms.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert forms.headers[0]["Content-Type"].startswith("multipart/form-data; boundary=")
    form = forms.forms[0]
    assert list(form) == ["model", "prompt", "image"]
    assert form["model"][2] == b"gpt-image-2.5-sunburst"
    assert form["prompt"][2].decode() == "add sunglasses: “yes”"
    assert form["image"] == ("image.jpeg", "image/jpeg", b"\xff\xd8 photo")


async def test_an_edit_with_a_mask(forms: FormServer) -> None:
    await editor(forms).edit(CAT, "a hat", mask=Image.from_bytes(b"\x89PNG\r\n\x1a\n mask"))

    assert forms.forms[0]["mask"] == ("mask.png", "image/png", b"\x89PNG\r\n\x1a\n mask")


async def test_a_model_that_can_edit_does_so_itself(forms: FormServer) -> None:
    await editor(forms, "gpt-image-1.5").edit(CAT, "a hat")

    assert forms.forms[0]["model"][2] == b"gpt-image-1.5"


async def test_azure_edits_no_pictures() -> None:
    access = ProviderAccess(PROVIDERS["azure-openai"], KEY, "http://127.0.0.1:1", api_version="1")
    azure = RemoteImageModel.at_provider(access)

    with pytest.raises(UnsupportedFeatureError, match="azure-openai does not support image_editing") as caught:
        await azure.edit(CAT, "a hat")

    assert (caught.value.feature, caught.value.supported) == ("image_editing", frozenset({"image_generation"}))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (Image(url="https://example.org/cat.png"), r"must come as bytes: use Image\.from_bytes"),
        (Image(), "must come as bytes"),
        (Image(data="not base64!"), "is not base64"),
    ],
)
async def test_what_is_no_picture_is_refused_before_any_request(forms: FormServer, image: Image, message: str) -> None:
    with pytest.raises(ModelRequestError, match=f"the image {message}"):
        await editor(forms).edit(image, "a hat")
    with pytest.raises(ModelRequestError, match=f"the mask {message}"):
        await editor(forms).edit(CAT, "a hat", mask=image)

    assert forms.forms == []


async def test_an_edit_that_fails(forms: FormServer) -> None:
    forms.status, forms.answer = 500, {"error": {"message": "no"}}

    with pytest.raises(ModelServerError, match="HTTP 500: no"):
        await editor(forms).edit(CAT, "a hat")


async def test_a_hundred_edits_at_once_each_get_their_own_picture(forms: FormServer) -> None:
    forms.answer = "echo"
    edits = editor(forms)

    found = await asyncio.gather(*(edits.edit(CAT, f"{n}") for n in range(100)))

    assert [base64.b64decode(one.images[0].data or "") for one in found] == [f"{n}".encode() for n in range(100)]


@pytest.mark.parametrize("editing", [True, False])
async def test_the_key_is_in_no_text(forms: FormServer, server: ChatServer, editing: bool) -> None:
    error = {"error": {"message": f"Incorrect API key: {KEY}"}}
    server.will(answers(error, 401))
    forms.status, forms.answer = 401, error
    asked = editor(forms) if editing else model(server)

    with pytest.raises(AuthenticationError) as raised:
        await (asked.edit(CAT, "a hat") if editing else asked.generate("a cat"))

    shown = f"{asked!r} {asked.endpoint!r} {''.join(traceback.format_exception(raised.value))}"
    assert KEY not in shown
    assert "***" in shown


async def test_a_provider_of_ones_own_is_taken_for_one_like_openai(forms: FormServer) -> None:
    await RemoteImageModel.at_provider(ProviderAccess(Provider("mine", forms.url)), "m").edit(CAT, "a hat")

    assert forms.paths == ["/v1/images/edits"]
    assert forms.forms[0]["model"][2] == b"m"
