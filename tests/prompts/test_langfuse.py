"""Prompts in Langfuse: what is asked of its public API, what is made of its answers, and what when it fails."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import traceback
from collections.abc import AsyncGenerator

import pytest

from tactician import Agent
from tactician.errors import ConfigurationError, MissingPromptVariable
from tactician.prompts import LangfusePrompts, ProvidedInstructions, prompt_providers
from tactician.testing import FakeClock, ScriptedModel
from tests.support.langfuse_server import (
    ENCODED_KEYS,
    PUBLIC_KEY,
    SECRET_KEY,
    Fault,
    LangfuseServer,
    Version,
    gives,
    hangs_up,
    stalls,
)
from tests.support.told import told

PROMPTS = "/api/public/v2/prompts/"
NOT_JSON = gives(200, "<html>Sign in</html>", "text/html")


@pytest.fixture
async def server() -> AsyncGenerator[LangfuseServer]:
    prompts = {"support": [Version("Be kind."), Version("Be brief.", ("staging", "latest"))]}
    async with LangfuseServer(prompts) as server:
        yield server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def langfuse(server: LangfuseServer, clock: FakeClock) -> LangfusePrompts:
    return LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=server.url, clock=clock)


async def test_an_agent_is_told_what_langfuse_has(server: LangfuseServer, langfuse: LangfusePrompts) -> None:
    server.prompts["greeting"] = [Version("Greet {{ who }} with {{how}}.", ("staging",))]
    prompt_providers.register("langfuse", langfuse)
    model = ScriptedModel("Hello")
    source = ProvidedInstructions("langfuse", "greeting", {"label": "staging", "who": "{{how}}", "how": "joy"})

    await Agent("A", model=model, instructions=source).run("hi")

    assert told(model) == ["Greet {{how}} with joy."]
    assert server.asked == [f"{PROMPTS}greeting?label=staging"]


class TestWhatIsAsked:
    @pytest.mark.parametrize(
        ("filters", "query", "text"),
        [
            ({}, "", "Be kind."),
            ({"label": "latest"}, "?label=latest", "Be brief."),
            ({"version": "2"}, "?version=2", "Be brief."),
            ({"version": "1", "label": ""}, "?version=1", "Be kind."),
        ],
    )
    async def test_a_version(
        self, filters: dict[str, str], query: str, text: str, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        assert await langfuse.get_prompt("support", filters) == text
        assert server.asked == [f"{PROMPTS}support{query}"]

    @pytest.mark.parametrize("filters", [{"label": "a", "version": "1"}, {"version": "two"}, {"version": "-1"}])
    async def test_an_unclear_version_is_not_asked_for(
        self, filters: dict[str, str], server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        with pytest.raises(ConfigurationError, match="Which version of the prompt 'support' is meant"):
            await langfuse.get_prompt("support", filters)
        assert server.asked == []

    @pytest.mark.parametrize(
        "name", ["team/support", "a b", "50%", "50%25", "a?b=c#d", "größe", "a+b&c", "../../keys", "x;y", "a\\b"]
    )
    async def test_any_name_is_one_part_of_the_path(
        self, name: str, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        server.prompts[name] = [Version("Be kind.")]
        assert await langfuse.get_prompt(name, {"label": "production"}) == "Be kind."

    @pytest.mark.parametrize("name", [".", "..", "", "\udcff"])
    async def test_a_name_that_there_cannot_be(self, name: str, langfuse: LangfusePrompts) -> None:
        with pytest.raises(ConfigurationError, match="has no prompt"):
            await langfuse.get_prompt(name, {})

    async def test_langfuse_may_be_inside_of_a_path(self, server: LangfuseServer) -> None:
        langfuse = LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=f"{server.url}/tools/langfuse/")
        with pytest.raises(ConfigurationError, match="has no prompt 'a'"):
            await langfuse.get_prompt("a", {})
        assert server.asked == [f"/tools/langfuse{PROMPTS}a"]


class TestChatPrompts:
    @pytest.mark.parametrize(
        ("messages", "text"),
        [
            ([("system", "Be kind."), ("user", "Hi, {{who}}"), ("system", "Be brief.")], "Be kind.\n\nBe brief."),
            ([("developer", "Be {{who}}.")], "Be Ada."),
            ([("user", "Hi"), ("assistant", "Hello, {{who}}")], "Hi\n\nHello, Ada"),
            ([("system", ""), ("user", "Hi")], "Hi"),
            ([], ""),
        ],
    )
    async def test_what_the_system_says(
        self, messages: list[tuple[str, str]], text: str, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        said = [{"role": role, "content": content} for role, content in messages]
        server.prompts["chat"] = [Version([*said, {"type": "placeholder", "name": "history"}])]
        assert await langfuse.get_prompt("chat", {"who": "Ada"}) == text


class TestWhatWasRead:
    async def test_it_is_used_for_a_while(
        self, server: LangfuseServer, langfuse: LangfusePrompts, clock: FakeClock
    ) -> None:
        assert await langfuse.get_prompt("support", {}) == "Be kind."
        server.prompts["support"] = [Version("Be rude.")]

        clock.advance(59.9)
        assert await langfuse.get_prompt("support", {}) == "Be kind."
        clock.advance(0.1)
        assert await langfuse.get_prompt("support", {}) == "Be rude."
        assert len(server.asked) == 2

    async def test_versions_and_variables_are_not_mixed_up(
        self, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        server.prompts["hi"] = [Version("Hi {{who}}"), Version("Bye {{who}}", ("1",))]

        for _ in range(2):
            assert await langfuse.get_prompt("hi", {"version": "1", "who": "Ada"}) == "Hi Ada"
            assert await langfuse.get_prompt("hi", {"label": "1", "who": "Ada"}) == "Bye Ada"
            assert await langfuse.get_prompt("hi", {"who": "Bob"}) == "Hi Bob"
        assert len(server.asked) == 3

    async def test_without_a_while_it_is_asked_each_time(self, server: LangfuseServer) -> None:
        langfuse = LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=server.url, seconds=0)
        for _ in range(2):
            await langfuse.get_prompt("support", {})
        assert len(server.asked) == 2

    @pytest.mark.parametrize("fault", [gives(500), gives(503), gives(429), gives(408), hangs_up, NOT_JSON])
    async def test_it_is_used_while_langfuse_fails(
        self, fault: Fault, server: LangfuseServer, langfuse: LangfusePrompts, clock: FakeClock
    ) -> None:
        await langfuse.get_prompt("support", {})
        server.fault = fault
        clock.advance(60)
        for _ in range(3):
            assert await langfuse.get_prompt("support", {}) == "Be kind."
        asked = len(server.asked)  # aiohttp itself asks once more when a connection breaks
        assert asked <= 3

        server.fault = None
        server.prompts["support"] = [Version("Be rude.")]
        assert await langfuse.get_prompt("support", {}) == "Be kind."
        clock.advance(60)
        assert await langfuse.get_prompt("support", {}) == "Be rude."
        assert len(server.asked) == asked + 1

    async def test_one_asks_and_the_others_do_not_wait(
        self, server: LangfuseServer, langfuse: LangfusePrompts, clock: FakeClock
    ) -> None:
        await langfuse.get_prompt("support", {})
        go_on = asyncio.Event()

        async def waits(_: object) -> None:
            await go_on.wait()

        server.fault = waits
        server.prompts["support"] = [Version("Be rude.")]
        server.reached.clear()
        clock.advance(60)
        first = asyncio.create_task(langfuse.get_prompt("support", {}))
        await server.reached.wait()

        assert await langfuse.get_prompt("support", {}) == "Be kind."
        go_on.set()
        assert await first == "Be rude."
        assert await langfuse.get_prompt("support", {}) == "Be rude."

    @pytest.mark.parametrize(("fault", "why"), [(gives(401), "refuses the keys"), (gives(404), "has no prompt")])
    async def test_it_is_not_used_when_langfuse_refuses(
        self, fault: Fault, why: str, server: LangfuseServer, langfuse: LangfusePrompts, clock: FakeClock
    ) -> None:
        await langfuse.get_prompt("support", {})
        server.fault = fault
        clock.advance(60)
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=why):
                await langfuse.get_prompt("support", {})
        assert len(server.asked) == 3


class TestMistakes:
    async def test_there_is_no_such_prompt(self, server: LangfuseServer, langfuse: LangfusePrompts) -> None:
        for filters, which in (({}, "label 'production'"), ({"label": "x"}, "label 'x'"), ({"version": "9"}, "'9'")):
            with pytest.raises(ConfigurationError) as caught:
                await langfuse.get_prompt("missing", filters)
            assert str(caught.value).startswith(f"{server.url} has no prompt 'missing' with the ")
            assert f"{which}. Create it there, or ask for another." in str(caught.value)

    async def test_a_variable_without_a_value(self, server: LangfuseServer, langfuse: LangfusePrompts) -> None:
        server.prompts["hi"] = [Version("Hi {{who}}, {{label}}", ("production", "x"))]
        with pytest.raises(MissingPromptVariable, match=r"hi: .* value for {{who}}; pass filters={'who': \.\.\.}"):
            await langfuse.get_prompt("hi", {"how": "joy"})
        with pytest.raises(MissingPromptVariable, match=r"value for {{label}}"):
            await langfuse.get_prompt("hi", {"who": "Ada", "label": "x"})

    @pytest.mark.parametrize(
        ("fault", "why"),
        [
            (gives(500), "cannot be loaded from {url}: it answers 500."),
            (gives(429), "cannot be loaded from {url}: it answers 429."),
            (gives(408), "cannot be loaded from {url}: it answers 408."),
            (hangs_up, "cannot be loaded from {url}: "),
            (NOT_JSON, "cannot be loaded from {url}: its answer is not a prompt of Langfuse."),
            (gives(200, "{}"), "its answer is not a prompt of Langfuse."),
            (gives(200, '{"prompt": [1]}'), "its answer is not a prompt of Langfuse."),
            (gives(200, '{"prompt": null}'), "its answer is not a prompt of Langfuse."),
            (gives(401), "{url} refuses the keys (401): check the public and the secret key of the project."),
            (gives(403), "{url} refuses the keys (403)"),
            (gives(400), "{url} answers 400 when it is asked for the prompt 'support' with the label 'production'."),
            (gives(204), "{url} answers 204 when it is asked"),
            (gives(302, Location="https://elsewhere.example"), "answers 302 when it is asked"),
            (gives(308, Location="https://elsewhere.example"), "label 'production'; redirects are not followed."),
        ],
    )
    async def test_an_answer_that_is_no_prompt(
        self, fault: Fault, why: str, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        server.fault = fault
        with pytest.raises(ConfigurationError) as caught:
            await langfuse.get_prompt("support", {})
        assert why.format(url=server.url) in str(caught.value)

        server.fault = None
        assert await langfuse.get_prompt("support", {}) == "Be kind."

    async def test_no_answer(self, server: LangfuseServer, clock: FakeClock) -> None:
        server.fault = stalls
        langfuse = LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=server.url, timeout=0.05, clock=clock)
        with pytest.raises(ConfigurationError, match=r"'support' cannot be loaded from .*: no answer within 0\.05 s\."):
            await langfuse.get_prompt("support", {})

        server.fault = None
        assert await langfuse.get_prompt("support", {}) == "Be kind."
        server.fault = stalls
        clock.advance(60)
        assert await langfuse.get_prompt("support", {}) == "Be kind."

    async def test_nobody_is_there(self, server: LangfuseServer, langfuse: LangfusePrompts) -> None:
        await server.__aexit__()
        with pytest.raises(ConfigurationError, match=r"'support' cannot be loaded from .*: Cannot connect to host"):
            await langfuse.get_prompt("support", {})

    async def test_a_run_that_is_cancelled_leaves_nothing_behind(
        self, server: LangfuseServer, langfuse: LangfusePrompts
    ) -> None:
        server.fault = stalls
        task = asyncio.create_task(langfuse.get_prompt("support", {}))
        await server.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        server.fault = None
        assert await langfuse.get_prompt("support", {}) == "Be kind."


class TestSecrets:
    @pytest.mark.parametrize(
        "fault",
        [
            None,
            gives(401, SECRET_KEY),
            gives(404, ENCODED_KEYS),
            gives(500, ENCODED_KEYS),
            gives(200, f'{{"a": "{SECRET_KEY}"'),
            gives(302, Location=f"https://elsewhere.example/?key={SECRET_KEY}"),
            hangs_up,
            stalls,
        ],
    )
    async def test_nobody_sees_the_keys(
        self, fault: Fault | None, server: LangfuseServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        langfuse = LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=server.url, timeout=0.05)
        server.fault, seen = fault, repr(langfuse) + str(langfuse)
        with caplog.at_level(logging.DEBUG):
            try:
                seen += await langfuse.get_prompt("support" if fault else "missing", {})
            except ConfigurationError as error:
                seen += "".join(traceback.format_exception(error))
            del langfuse
            gc.collect()
        seen += caplog.text
        assert "refuses" in seen or "prompt" in seen
        for secret in (SECRET_KEY, ENCODED_KEYS):
            assert secret not in seen

    async def test_a_redirect_does_not_take_the_keys_along(self, server: LangfuseServer) -> None:
        async with LangfuseServer() as other:
            server.fault = gives(307, Location=other.url)
            with pytest.raises(ConfigurationError, match="redirects are not followed"):
                await LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=server.url).get_prompt("support", {})
            assert other.asked == []

    @pytest.mark.parametrize("keys", [("wrong", SECRET_KEY), (PUBLIC_KEY, "wrong"), (PUBLIC_KEY, "\udcff")])
    async def test_wrong_keys(self, keys: tuple[str, str], server: LangfuseServer) -> None:
        with pytest.raises(ConfigurationError, match=r"refuses the keys \(401\)"):
            await LangfusePrompts(*keys, host=server.url).get_prompt("support", {})

    @pytest.mark.parametrize("keys", [("", SECRET_KEY), (PUBLIC_KEY, "")])
    def test_no_keys(self, keys: tuple[str, str]) -> None:
        with pytest.raises(ConfigurationError, match="needs the public and the secret key of a project"):
            LangfusePrompts(*keys)

    @pytest.mark.parametrize(
        "host",
        [
            "",
            "cloud.langfuse.com",
            "ftp://cloud.langfuse.com",
            "https://",
            f"https://{PUBLIC_KEY}:{SECRET_KEY}@cloud.langfuse.com",
            f"https://cloud.langfuse.com?key={SECRET_KEY}",
            "https://[::1",
        ],
    )
    def test_no_host(self, host: str) -> None:
        with pytest.raises(ConfigurationError, match="The host of Langfuse must be an address such as") as caught:
            LangfusePrompts(PUBLIC_KEY, SECRET_KEY, host=host)
        assert SECRET_KEY not in "".join(traceback.format_exception(caught.value))


class TestFromEnvironment:
    KEYS = {"LANGFUSE_PUBLIC_KEY": PUBLIC_KEY, "LANGFUSE_SECRET_KEY": f"{SECRET_KEY}\n"}  # noqa: RUF012

    async def test_keys_and_host(self, server: LangfuseServer, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {**self.KEYS, "LANGFUSE_HOST": server.url}.items():
            monkeypatch.setenv(name, value)
        assert await LangfusePrompts.from_environment().get_prompt("support", {}) == "Be kind."

    @pytest.mark.parametrize(
        ("hosts", "host"),
        [
            ({}, "https://cloud.langfuse.com"),
            ({"LANGFUSE_HOST": "", "LANGFUSE_BASE_URL": "https://a.example/"}, "https://a.example"),
            ({"LANGFUSE_HOST": "https://b.example", "LANGFUSE_BASE_URL": "https://a.example"}, "https://b.example"),
        ],
    )
    def test_where_langfuse_is(self, hosts: dict[str, str], host: str) -> None:
        langfuse = LangfusePrompts.from_environment({**self.KEYS, **hosts})
        assert (langfuse.host, repr(copy.copy(langfuse))) == (host, f"LangfusePrompts({host!r})")

    @pytest.mark.parametrize(
        ("environment", "missing"),
        [
            ({}, "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"),
            ({"LANGFUSE_PUBLIC_KEY": PUBLIC_KEY, "LANGFUSE_SECRET_KEY": " "}, "LANGFUSE_SECRET_KEY"),
            ({"LANGFUSE_SECRET_KEY": SECRET_KEY}, "LANGFUSE_PUBLIC_KEY"),
        ],
    )
    def test_what_is_missing(self, environment: dict[str, str], missing: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            LangfusePrompts.from_environment(environment)
        assert str(caught.value).startswith(f"Langfuse needs {missing}: set ")
        assert SECRET_KEY not in str(caught.value)
