"""Notifications are signed, reach only addresses that may be reached, and come again with the same id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from tactician.errors import ConfigurationError
from tactician.notifications.webhooks import (
    NotificationError,
    UnsafeAddressError,
    Webhook,
    WebhookSender,
    check_webhook_address,
    create_webhook_secret,
    send_once,
    sign_webhook,
)
from tactician.testing import FakeClock

BODY = json.dumps({"state": "completed"}).encode()


class Target:
    """Server that is notified: it keeps what came, and answers with the statuses that it was given, then with 200."""

    def __init__(self) -> None:
        self.url = ""
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.location = ""

    async def take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append((headers, await request.read()))
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(status=status, headers={"location": self.location} if status == 302 else {})


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    target, application = Target(), web.Application()
    application.router.add_post("/hook", target.take)
    async with TestServer(application) as server:
        target.url = str(server.make_url("/hook"))
        yield target


def create_sender(clock: FakeClock | None = None, attempts: int = 3) -> WebhookSender:
    return WebhookSender(clock or FakeClock(), allows_private=True, attempts=attempts, random=lambda: 1.0)


async def test_the_signature_is_valid_by_the_library_of_the_specification(target: Target) -> None:
    secret = create_webhook_secret()
    async with WebhookSender(allows_private=True) as sender:
        await sender.send(Webhook(target.url, secret), "message-1", BODY)

    ((headers, body),) = target.received
    assert Verifier(secret).verify(body, headers) == {"state": "completed"}
    assert headers["webhook-id"] == "message-1"
    assert headers["content-type"] == "application/json"
    with pytest.raises(WebhookVerificationError):
        Verifier(create_webhook_secret()).verify(body, headers)


async def test_a_message_comes_again_with_the_same_id_after_pauses(target: Target) -> None:
    clock = FakeClock()
    target.statuses = [503, 429]
    async with create_sender(clock) as sender:
        await sender.send(Webhook(target.url, create_webhook_secret()), "message-1", BODY)

    assert [headers["webhook-id"] for headers, _ in target.received] == ["message-1"] * 3
    assert clock.slept == [1.0, 2.0]
    stamps = [int(headers["webhook-timestamp"]) for headers, _ in target.received]
    assert [stamp - stamps[0] for stamp in stamps] == [0, 1, 3]


async def test_attempts_are_bounded(target: Target) -> None:
    target.statuses = [500] * 9
    async with create_sender(attempts=2) as sender:
        with pytest.raises(NotificationError, match="in 2 attempts: status 500") as caught:
            await sender.send(Webhook(target.url, headers={"authorization": "Bearer k"}), "message-1", BODY)
    assert len(target.received) == 2
    assert "hook" not in str(caught.value)


async def test_a_refusal_is_final(target: Target) -> None:
    target.statuses = [410]
    async with create_sender() as sender:
        with pytest.raises(NotificationError, match="status 410"):
            await sender.send(Webhook(target.url), "message-1", BODY)
    assert len(target.received) == 1


async def test_redirects_are_not_followed(target: Target) -> None:
    target.statuses, target.location = [302], target.url
    async with create_sender() as sender:
        with pytest.raises(NotificationError, match="status 302"):
            await sender.send(Webhook(target.url), "message-1", BODY)
    assert len(target.received) == 1


async def test_nobody_answers() -> None:
    async with create_sender() as sender:
        with pytest.raises(NotificationError, match="no answer"):
            await sender.send(Webhook("http://127.0.0.1:9/hook"), "message-1", BODY)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/hook",
        "http://localhost:8000/hook",
        "http://[::1]/hook",
        "http://169.254.169.254/latest",
        "ftp://8.8.8.8/hook",
        "https://user:password@8.8.8.8/hook",
        "https:///hook",
        "https://8.8.8.8:99999/hook",
        "http://8.8.8.8/" + "a" * 3000,
    ],
)
async def test_an_address_has_to_be_public_and_http(url: str) -> None:
    with pytest.raises(UnsafeAddressError, match="Notifications are not sent"):
        await check_webhook_address(url)
    async with WebhookSender(FakeClock()) as sender:
        with pytest.raises(UnsafeAddressError):
            await sender.send(Webhook(url), "message-1", BODY)


async def test_a_name_that_becomes_private_reaches_nothing(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find_public_address(host: str, port: int) -> str:
        return "8.8.8.8"

    monkeypatch.setattr("tactician.notifications.webhooks.find_public_address", find_public_address)
    async with WebhookSender(FakeClock(), attempts=1) as sender:
        with pytest.raises(NotificationError):
            await sender.send(Webhook(target.url), "message-1", BODY)
    assert target.received == []


async def test_a_public_address_is_fine() -> None:
    await check_webhook_address("https://8.8.8.8/hook")


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_short", "no base64!", "whsec_" + "A" * 400])
def test_a_secret_has_to_be_long_and_is_in_no_error(secret: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        sign_webhook(secret, "message-1", 0, BODY)
    assert secret in ("", "whsec_") or secret not in str(caught.value)
    with pytest.raises(ConfigurationError, match="full stop"):
        sign_webhook(create_webhook_secret(), "a.b", 0, BODY)


async def test_a_state_is_sent_once() -> None:
    last, sent = "", list[str]()

    async def replace_last(stamp: str) -> str:
        nonlocal last
        before, last = last, stamp
        return before

    async def send() -> None:
        sent.append(last)

    done = [await send_once(stamp, replace_last, send) for stamp in ("waiting", "waiting", "completed")]

    assert done == [True, False, True]
    assert sent == ["waiting", "completed"]
