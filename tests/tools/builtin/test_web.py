"""Pages and HTTP requests, against real servers on loopback addresses."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from tactician.errors import ConfigurationError
from tactician.testing import FakeClock
from tactician.tools import Tool, fetch_page, http_request
from tests.support.raw_server import RawServer, head
from tests.tools.builtin.support import Site, answers, call, call_json, create_context, redirects, refuse

PAGE = """<!doctype html><html><head><title>All about frogs</title><script>evil()</script></head>
<body><nav><a href="/home">Home</a></nav><h1>Frogs</h1><p>They have <a href="/ears">no ears</a>.</p></body></html>"""
fetch = fetch_page.allow_private()
request = http_request.allow_private()


async def test_a_page_is_read_as_text() -> None:
    async with Site(answers(PAGE, content_type="text/html")) as site:
        text = await call(fetch, url=f"{site.url}/frogs")
        assert text == f"# All about frogs\n\n# Frogs\n\nThey have [no ears]({site.url}/ears)."


async def test_a_page_of_plain_text_is_read_as_it_is() -> None:
    async with Site(answers('{"a":  1}', content_type="application/json")) as site:
        assert await call(fetch, url=site.url) == '{"a":  1}'


async def test_another_extractor_reads_the_page() -> None:
    def extract(html: str) -> str | None:
        return "only this" if "Frogs" in html else None

    async with Site(answers(PAGE, content_type="text/html")) as site:
        assert await call(fetch.with_extractor(extract), url=site.url) == "# All about frogs\n\nonly this"
        assert "no ears" in await call(fetch.with_extractor(lambda _: None), url=site.url)


async def test_what_is_not_text_is_an_error() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"\x89PNG", content_type="image/png")

    async with Site(answer) as site:
        assert "is image/png, which is not text" in await refuse(fetch, url=site.url)


async def test_a_status_of_failure_is_an_error() -> None:
    async with Site(answers("no", status=404)) as site:
        assert await refuse(fetch, url=f"{site.url}/x?key=abc") == f"{site.url}/x answered with status 404."


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "no-such-encoding"])
async def test_the_encoding_of_the_server_counts(encoding: str) -> None:
    text = b"Gr\xc3\xbc\xc3\x9fe" if encoding != "iso-8859-1" else b"Gr\xfc\xdfe"
    async with RawServer(lambda: [head(f"Content-Type: text/plain; charset={encoding}"), text]) as server:
        assert await call(fetch, url=server.url) == "Grüße"


@pytest.mark.parametrize(
    "encoding", ["punycode", "idna", "rot13", "hex", "unicode_escape", "utf-7", "zlib", "..", "x" * 99]
)
async def test_what_no_browser_reads_is_no_encoding_of_a_page(encoding: str) -> None:
    text = b"\\x41+AGE- " + b"x" * 300_000 + b"-" + b"9" * 300_000  # takes punycode half an hour
    async with RawServer(lambda: [head(f"Content-Type: text/plain; charset={encoding}"), text]) as server:
        assert (await call(fetch, url=server.url)).startswith("\\x41+AGE- xxx")


@pytest.mark.parametrize(
    ("content_type", "content", "text"),
    [
        ("text/html", b'<meta charset="iso-8859-1"><p>Gr\xfc\xdfe', "Grüße"),
        ("text/html", b"<html><META charset=windows-1252><p>\x80 5", "€ 5"),
        (
            "text/html",
            b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis"><p>\x93\xfa\x96{',
            "日本",
        ),
        ("text/html; charset=utf-8", "<meta charset=iso-8859-1><p>Grüße".encode(), "Grüße"),
        ("text/html; charset=bogus", b"<meta charset=koi8-r><p>\xcc\xc0", "лю"),
        ("text/html", "<meta charset=utf-16><p>Grüße".encode(), "Grüße"),
        ("text/html", "<meta charset=punycode><p>Grüße".encode(), "Grüße"),
        ("text/html; charset=iso-8859-1", b"\xef\xbb\xbf<p>Gr\xc3\xbc\xc3\x9fe", "Grüße"),
        ("text/html", b"\xff\xfe" + "<p>Grüße".encode("utf-16-le"), "Grüße"),
        ("text/plain", b"\xef\xbb\xbfhello", "hello"),
        ("text/plain", b"<meta charset=koi8-r> ok", "<meta charset=koi8-r> ok"),
    ],
)
async def test_a_page_names_its_encoding(content_type: str, content: bytes, text: str) -> None:
    async with RawServer(lambda: [head(f"Content-Type: {content_type}"), content]) as server:
        assert await call(fetch, url=server.url) == text


async def test_a_request_has_its_method_headers_and_body() -> None:
    async with Site(answers("made", status=201, content_type="text/plain")) as site:
        told = await call_json(
            request, url=f"{site.url}/things", method="POST", headers={"X-Mark": "1"}, body='{"a": "ü"}'
        )
        sent = site.requests[0]
        assert (sent.method, sent.path, sent.headers["X-Mark"]) == ("POST", "/things", "1")
        assert site.bodies == ['{"a": "ü"}'.encode()]
    assert (told["status"], told["body"]) == (201, "made")
    headers = told["headers"]
    assert isinstance(headers, dict)
    assert headers["content-type"].startswith("text/plain")


async def test_a_request_tells_of_a_status_of_failure() -> None:
    async with Site(answers("no", status=500)) as site:
        assert (await call_json(request, url=site.url))["status"] == 500


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other"},
        {"content-length": "1"},
        {"Transfer-Encoding": "chunked"},
        {"X": "a\r\nY: b"},
        {"X\r\nY": "b"},
        {"X Y": "a"},
        {"X": "ü"},
        {"X": "a" * 5_000},
        {f"X{number}": "a" for number in range(51)},
    ],
)
async def test_headers_that_change_the_request_itself_are_refused(headers: dict[str, str]) -> None:
    async with Site(answers()) as site:
        assert "header" in await refuse(request, url=site.url, headers=headers)
        assert site.requests == []


async def test_a_body_that_is_too_long_is_refused() -> None:
    assert "longer" in await refuse(request, url="http://127.0.0.1/", method="POST", body="x" * 1_000_001)


# Private addresses


def spell(site: Site, host: str) -> str:
    return f"http://{host}:{site.url.rpartition(':')[2]}/"


@pytest.mark.parametrize("tool", [fetch_page, http_request], ids=["page", "request"])
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1."),
        *("[::1]", "[::ffff:127.0.0.1]", "[::]", "[::ffff:7f00:1]"),
    ],
)
async def test_this_machine_is_not_reached_however_it_is_written(tool: Tool, host: str) -> None:
    async with Site(answers("secret")) as site:
        assert await refuse(tool, url=spell(site, host))
        assert site.requests == []


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.0.1/", "http://[fd00:ec2::254]/"],
)
async def test_metadata_and_private_networks_are_not_reached(url: str) -> None:
    reason = await refuse(fetch_page, url=url)
    assert "this machine or to a private network" in reason


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses of host names: each look-up takes the next one, and the last one stays."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: object, **more: object) -> object:
        if host in known:
            addresses = known[host]
            host = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return real(host, port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


async def test_a_name_that_leads_to_a_private_address_is_not_reached(names: dict[str, list[str]]) -> None:
    names["intranet.example.com"] = ["127.0.0.1"]
    async with Site(answers("secret")) as site:
        assert "private network" in await refuse(fetch_page, url=spell(site, "intranet.example.com"))
        assert site.requests == []


async def test_a_name_whose_address_changes_is_looked_up_once(
    names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Stands in for a public address: this machine has none that it can reach.
    treat_as_public(monkeypatch, {"127.0.0.2"})
    async with Site(answers("public"), host="127.0.0.2") as site, Site(answers("secret")) as private:
        names["rebinding.example.com"] = ["127.0.0.2", "127.0.0.1"]
        assert (await call_json(http_request, url=spell(site, "rebinding.example.com")))["body"] == "public"
        assert names["rebinding.example.com"] == ["127.0.0.1"]
        assert "private network" in await refuse(fetch_page, url=spell(private, "rebinding.example.com"))
        assert private.requests == []


def treat_as_public(monkeypatch: pytest.MonkeyPatch, addresses: set[str]) -> None:
    monkeypatch.setattr("tactician.tools.builtin.web_client.is_public", lambda address: address in addresses)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_a_private_address_is_not_followed(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    treat_as_public(monkeypatch, {"127.0.0.2"})
    async with (
        Site(answers("secret")) as private,
        Site(redirects(f"{private.url}/secret", status), host="127.0.0.2") as public,
    ):
        for tool in (fetch_page, http_request):
            assert "private network" in await refuse(tool, url=public.url)
        assert len(public.requests) == 2
        assert private.requests == []


async def test_a_private_address_is_reached_when_it_is_allowed() -> None:
    async with Site(answers("inside")) as site:
        assert await call(fetch, url=site.url) == "inside"
        assert await call(fetch, url=spell(site, "localhost")) == "inside"
    assert await refuse(fetch_page, url=site.url)  # the tool itself is not changed


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1:70/", "data:text/html,x"),
        *("http://", "http:///x", "http://[::1", "http://a:99999/", "javascript:alert(1)", "//example.com"),
        *("http://" + "a" * 5_000, "http://user:password@127.0.0.1/", "http://127.0.0.1\\@example.com/"),
        *("http://a b/", "http://127.0.0.1\r\nX: y/", "http://\ufeff/", "http://..../"),
    ],
)
async def test_what_is_no_address_is_an_error(url: str) -> None:
    for tool in (fetch_page, http_request):
        reason = await refuse(tool, url=url)
        assert "password@" not in reason
        assert len(reason) < 500


# Redirects


async def test_redirects_are_followed() -> None:
    async with Site(answers("here")) as end, Site(redirects(f"{end.url}/there")) as start:
        assert (await call_json(request, url=start.url))["url"] == f"{end.url}/there"


async def test_a_relative_redirect_stays_on_its_server() -> None:
    async def answer(sent: web.Request) -> web.StreamResponse:
        if sent.path == "/a/start":
            return web.Response(status=302, headers={"Location": "../b?x=1"})
        return web.Response(text=str(sent.rel_url))

    async with Site(answer) as site:
        assert await call(fetch, url=f"{site.url}/a/start") == "/b?x=1"


async def test_redirects_without_an_end_are_an_error() -> None:
    async with Site(redirects("/again")) as site:
        assert "more than 5 redirects" in await refuse(fetch, url=site.url)
        assert len(site.requests) == 6
        assert "more than 0 redirects" in await refuse(fetch.with_limits(max_redirects=0), url=site.url)


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://example.com", "http://user:pass@127.0.0.1/", "http://["]
)
async def test_a_redirect_to_what_is_no_address_is_an_error(location: str) -> None:
    async with Site(redirects(location)) as site:
        reason = await refuse(fetch, url=f"{site.url}/x?key=secret")
        assert reason.startswith(f"{site.url}/x redirects to something ")
        assert "secret" not in reason


async def test_headers_are_not_sent_on_to_another_server() -> None:
    async with Site(answers("end")) as end, Site(redirects(end.url)) as start:
        await call(request, url=start.url, headers={"Authorization": "Bearer secret", "X-Key": "secret"})
        assert start.requests[0].headers["Authorization"] == "Bearer secret"
        assert not {"Authorization", "X-Key"} & set(end.requests[0].headers)


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
async def test_a_redirected_request_keeps_its_body_only_where_the_status_says_so(status: int, method: str) -> None:
    async def answer(sent: web.Request) -> web.StreamResponse:
        if sent.path == "/start":
            return web.Response(status=status, headers={"Location": "/end"})
        return web.Response(text="")

    async with Site(answer) as site:
        await call(request, url=f"{site.url}/start", method="POST", body="content")
        assert site.requests[1].method == method
        assert site.bodies[1] == (b"content" if method == "POST" else b"")


async def test_a_body_is_not_sent_on_to_another_server() -> None:
    async with Site(answers("end")) as end, Site(redirects(end.url, 307)) as start:
        assert "to another server" in await refuse(request, url=start.url, method="POST", body="secret")
        assert end.requests == []


# Limits


async def test_a_long_answer_is_cut() -> None:
    async with Site(answers("x" * 100_000, content_type="text/plain")) as site:
        assert await call(fetch.with_limits(max_chars=10), url=site.url) == f"{'x' * 10}\n[cut: there is more]"
        assert await call(fetch.with_limits(max_bytes=10), url=site.url) == f"{'x' * 10}\n[cut: there is more]"
        assert str((await call_json(request, url=site.url))["body"]).endswith("[cut: there is more]")


async def test_an_answer_without_an_end_is_cut() -> None:
    def write() -> Iterator[bytes]:
        yield head("Content-Type: text/plain")
        while True:
            yield b"x" * 2**16

    async with RawServer(write) as server:
        text = await call(fetch.with_limits(max_bytes=100_000, max_chars=10**9), url=server.url)
    assert text == f"{'x' * 100_000}\n[cut: there is more]"


async def test_a_compressed_answer_is_bounded_after_decompression() -> None:
    bomb = gzip.compress(b"x" * 300_000_000, 9)

    def write() -> list[bytes]:
        return [head("Content-Type: text/plain", "Content-Encoding: gzip", f"Content-Length: {len(bomb)}"), bomb]

    async with RawServer(write) as server:
        text = await call(fetch.with_limits(max_bytes=1_000), url=server.url)
    assert text == f"{'x' * 1_000}\n[cut: there is more]"


@pytest.mark.parametrize("where", ["before the head", "in the body"])
async def test_a_server_that_stops_is_given_up_in_time(where: str) -> None:
    clock, is_waiting = FakeClock(), asyncio.Event()

    async def answer(sent: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if where == "in the body":
            await response.prepare(sent)
            await response.write(b"some")
        is_waiting.set()
        await asyncio.sleep(60)
        return response

    async with Site(answer) as site:
        work = asyncio.create_task(refuse(fetch, create_context(clock), url=f"{site.url}/x?key=abc"))
        await is_waiting.wait()
        assert not work.done()
        clock.advance(30)
        assert await work == f"{site.url}/x did not answer within 30 seconds."


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10**5,
    ],
)
async def test_a_broken_answer_is_an_error_without_the_query(answer: bytes) -> None:
    async with RawServer(lambda: [answer]) as server:
        reason = await refuse(fetch, url=f"{server.url}/x?key=secret")
    assert "cannot be reached" in reason
    assert "secret" not in reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "the server ended the connection without an answer"),
        (b"nonsense\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "the answer breaks off, or is not encoded as it says"),
    ],
)
async def test_an_error_says_in_plain_words_why(answer: bytes, reason: str) -> None:
    async with RawServer(lambda: [answer]) as server:
        assert await refuse(fetch, url=server.url) == f"{server.url} cannot be reached: {reason}."


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0177.0.0.1", "...", "a" * 300])
async def test_an_address_that_nobody_has_is_said_to_be_not_valid(host: str) -> None:
    assert "cannot be reached: the address is not valid." in await refuse(fetch, url=f"http://{host}/")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a\r\nX-Evil: 1", "http://127.0.0.1:1/\x00", "http://a\nb/"])
async def test_an_address_with_a_control_character_is_refused(url: str) -> None:
    assert await refuse(fetch, url=url) == "The address has a line break or another control character in it."


async def test_headers_that_come_twice_are_all_told() -> None:
    lines = "Content-Type: text/plain\r\nLink: <a>\r\nlink: <b>"
    async with RawServer(lambda: [head(lines), b"ok"]) as server:
        told = await call_json(request, url=server.url)
    assert isinstance(headers := told["headers"], dict)
    assert headers["link"] == "<a>, <b>"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"timeout": 0}, r"WebLimits\.timeout is 0"),
        ({"timeout": float("nan")}, r"WebLimits\.timeout is nan"),
        ({"max_bytes": -1}, r"WebLimits\.max_bytes is -1"),
        ({"max_redirects": -1}, r"WebLimits\.max_redirects is -1"),
        ({"max_chars": 0}, r"PageFetcher\.max_chars is 0"),
    ],
)
def test_limits_are_checked_when_they_are_set(limits: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        fetch_page.with_limits(**limits)


async def test_a_server_that_is_not_there_is_an_error() -> None:
    async with Site(answers()) as site:
        url = site.url
    assert "cannot be reached: Connect" in await refuse(fetch, url=url)


async def test_cookies_and_proxies_of_this_process_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.Response(text="fine")
        response.set_cookie("a", "b")
        return response

    async with Site(answer) as site:
        await call(fetch, url=site.url)
        await call(fetch, url=site.url)
        assert "Cookie" not in site.requests[1].headers


async def test_a_cancelled_request_leaves_nothing_open() -> None:
    is_asked, has_gone = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_asked.set()
        while await reader.read(1_000):
            pass
        has_gone.set()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        before = asyncio.all_tasks()
        work = asyncio.create_task(call(fetch, url=url))
        await is_asked.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await has_gone.wait()
        assert len(asyncio.all_tasks() - before) <= 1  # the one that answers


def test_the_schema_of_a_request_names_its_parameters() -> None:
    properties = http_request.spec.parameters["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["url", "method", "headers", "body"]
    assert properties["method"]["enum"] == ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    assert http_request.spec.parameters["required"] == ["url"]
    assert json.dumps(http_request.spec.parameters)


def test_a_request_can_need_an_approval_by_its_method() -> None:
    def writes(arguments: object) -> bool:
        return isinstance(arguments, dict) and arguments.get("method", "GET") != "GET"

    careful = http_request.with_approval(writes)
    assert careful.traits.is_approval_needed({"url": "http://a/", "method": "DELETE"})
    assert not careful.traits.is_approval_needed({"url": "http://a/"})
    assert not http_request.traits.needs_approval
