"""What is published over MCP: goals, Runnables, tools, references, prompts and resources, in both protocol eras."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Literal

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tactician import Agent, Image, Platform, achieves_goal, action, planned_agent, runnable, tool
from tactician.errors import ConfigurationError, DeclarationError
from tactician.llm import AssistantMessage, Document, Message, Text, UserMessage
from tactician.prompts import Reference
from tactician.serve import McpPublisher, McpResource, ServedPrompt
from tactician.serve.mcp.limits import MOST_SUBSCRIPTIONS
from tactician.testing import ScriptedModel
from tactician.tools import ToolGroup, ToolOutput
from tests.serve.mcp.kitchen import ERAS, Era, Kitchen, add, connect, create_platform, read, read_json

OWN = ["respond", "run_status", "hello_banner"]


async def list_names(publisher: McpPublisher, era: Era = "auto") -> list[str]:
    async with connect(publisher, era) as client:
        return [one.name for one in (await client.list_tools()).tools]


@pytest.mark.parametrize("era", ERAS)
async def test_remote_goals_are_typed_tools(era: Era) -> None:
    async with connect(McpPublisher(create_platform()), era) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert list(tools) == ["cook_meal", "serve", "ask_wishes", "plan_orders", *OWN]
        assert tools["cook_meal"].input_schema["required"] == ["dish"]
        result = await client.call_tool("cook_meal", {"dish": "pie"})
        assert (result.structured_content, read_json(result)) == ({"dish": "1 pie", "note": ""},) * 2


@pytest.mark.parametrize("era", ERAS)
async def test_a_goal_with_several_inputs_has_an_argument_for_each(era: Era) -> None:
    async with connect(McpPublisher(create_platform()), era) as client:
        result = await client.call_tool("serve", {"order": {"dish": "pie"}, "guest": {"name": "Ann"}})
        assert (read(result), result.structured_content) == ("pie for Ann", None)


@pytest.mark.parametrize("era", ERAS)
async def test_wrong_arguments_and_failures_are_results_that_a_model_can_read(era: Era) -> None:
    async with connect(McpPublisher(create_platform(), add), era) as client:
        wrong = await client.call_tool("cook_meal", {"pieces": "many"})
        assert wrong.is_error
        assert read(wrong).startswith("The arguments are not valid: dish: Field required; pieces: ")
        assert "nobody eats that" in read(await client.call_tool("cook_meal", {"dish": "stone"}))
        assert (await client.call_tool("add", {"a": 1})).is_error
        with pytest.raises(MCPError, match=r"There is no tool 'cook_mea'\. Did you mean 'cook_meal'\?"):
            await client.call_tool("cook_mea", {})


async def test_what_is_too_long_is_refused() -> None:
    @tool
    def repeat(times: int) -> str:
        """Repeat a letter."""
        return "a" * times

    async with connect(McpPublisher(Platform(ScriptedModel()), repeat, add)) as client:
        assert read(await client.call_tool("repeat", {"times": 2_000_000})).startswith("The result has 2,000,000 ")
        assert read(await client.call_tool("add", {"a": "1" * 2_000_000})).startswith("The arguments have 2,000,")


async def test_pictures_are_pictures() -> None:
    picture = Image.from_bytes(b"\x89PNG\r\n\x1a\n")

    @tool
    def draw() -> ToolOutput:
        """Draw."""
        return ToolOutput("a dot", (picture,))

    async with connect(McpPublisher(Platform(ScriptedModel()), draw)) as client:
        text, image = (await client.call_tool("draw", {})).content
        assert isinstance(text, types.TextContent)
        assert isinstance(image, types.ImageContent)
        assert (text.text, image.mime_type, image.data) == ("a dot", "image/png", picture.data)


@pytest.mark.parametrize("era", ERAS)
async def test_files_are_audio_embedded_resources_or_links(era: Era) -> None:
    note = Document.from_bytes(b"Buy frogs.", "text/plain", "my note.txt")
    parts: list[object] = [
        "Look:",
        Document.from_bytes(b"RIFF", "audio/wav", "beep.wav"),
        note,
        Document.from_bytes(b"%PDF", name="bill.pdf"),
        Document.from_bytes(b"\xff", "text/plain", "broken.txt"),
        Document("https://example.com/a.pdf", name="a.pdf"),
    ]

    async def give(input: object) -> list[object]:
        return parts

    async def give_note(input: object) -> Document:
        return note

    several = runnable(give, name="several", description="Gives files.")
    single = runnable(give_note, name="single", description="Gives a file.")
    async with connect(McpPublisher(Platform(ScriptedModel()), several, single), era) as client:
        text, audio, *files, link = (await client.call_tool("several", {"request": "x"})).content
        (alone,) = (await client.call_tool("single", {"request": "x"})).content

    assert isinstance(text, types.TextContent)
    assert isinstance(audio, types.AudioContent)
    assert (text.text, audio.mime_type, audio.data) == ("Look:", "audio/wav", "UklGRg==")
    assert isinstance(link, types.ResourceLink)
    assert (link.uri, link.name) == ("https://example.com/a.pdf", "a.pdf")
    contents = [block.resource for block in files if isinstance(block, types.EmbeddedResource)]
    texts = {one.uri: one.text for one in contents if isinstance(one, types.TextResourceContents)}
    blobs = {one.uri: one.blob for one in contents if isinstance(one, types.BlobResourceContents)}
    assert texts == {"file:///my%20note.txt": "Buy frogs."}
    assert blobs == {"file:///bill.pdf": "JVBERg==", "file:///broken.txt": "/w=="}
    assert alone == files[0]


@pytest.mark.parametrize("era", ERAS)
async def test_files_of_tools_are_embedded_resources(era: Era) -> None:
    @tool
    def find_bill(number: int) -> Document:
        """Find a bill."""
        return Document.from_bytes(b"%PDF", name=f"{number}.pdf")

    @tool
    def find_notes() -> list[object]:
        """Find notes."""
        return ["Two:", Document.from_bytes(b"Buy frogs.", "text/plain", "a.txt"), Document("https://x.example/b.pdf")]

    async with connect(McpPublisher(Platform(ScriptedModel()), find_bill, find_notes), era) as client:
        described, bill = (await client.call_tool("find_bill", {"number": 7})).content
        texts, note, link = (await client.call_tool("find_notes", {})).content

    assert isinstance(described, types.TextContent)
    assert described.text == "[file 7.pdf of the type application/pdf, 4 bytes]"
    assert isinstance(bill, types.EmbeddedResource)
    assert isinstance(bill.resource, types.BlobResourceContents)
    assert (bill.resource.uri, bill.resource.blob) == ("file:///7.pdf", "JVBERg==")
    assert isinstance(texts, types.TextContent)
    assert texts.text == (
        "Two:\n[file a.txt]\nBuy frogs.\n[file document.pdf of the type application/pdf, https://x.example/b.pdf]"
    )
    assert isinstance(note, types.EmbeddedResource)
    assert isinstance(note.resource, types.TextResourceContents)
    assert (note.resource.text, getattr(link, "uri", None)) == ("Buy frogs.", "https://x.example/b.pdf")


async def test_any_runnable_tool_object_group_and_reference() -> None:
    class Calculator:
        @tool
        def double(self, number: int) -> int:
            """Double a number."""
            return 2 * number

    def plain(text: str) -> str:
        """Return a text."""
        return text

    reference = Reference("Acme docs", "What Acme does", notes="Read it.", tools=[plain])
    platform = create_platform("hello")
    sources = (Agent("My helper"), "Careful", Calculator(), ToolGroup("numbers", [add]), reference, [plain])
    publisher = McpPublisher(platform, *sources)
    names = await list_names(publisher)
    assert names == [
        *("cook_meal", "serve", "my_helper", "ask_wishes", "plan_orders"),
        *("double", "add", "acme_docs_plain", "plain", *OWN),
    ]
    async with connect(publisher) as client:
        assert read(await client.call_tool("my_helper", {"request": "hi"})) == "hello"
        assert read(await client.call_tool("double", {"number": 4})) == "8"
        assert read(await client.call_tool("acme_docs_plain", {"text": "x"})) == "x"
        found = {str(one.uri): one for one in (await client.list_resources()).resources}
        assert next(iter(found)) == "reference://acme_docs"
        content = (await client.read_resource("reference://acme_docs")).contents[0]
        assert isinstance(content, types.TextResourceContents)
        assert content.text.endswith("Read it.")
        drawn = (await client.read_resource("tactician://agents/kitchen")).contents[0]
        assert isinstance(drawn, types.TextResourceContents)
        assert "```mermaid\nflowchart" in drawn.text


async def test_a_planned_agent_is_published_with_all_of_its_goals() -> None:
    publisher = McpPublisher(Platform(ScriptedModel()), Kitchen())
    assert await list_names(publisher) == ["cook_meal", "serve", "clean", *OWN]
    async with connect(publisher) as client:
        assert (await client.call_tool("clean", {"content": "floor"})).structured_content == {"result": 5}


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_registered_later_is_published_too_and_clients_are_told(era: Era) -> None:
    platform = Platform(ScriptedModel())
    publisher = McpPublisher(platform)
    told = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.set()

    client = connect(publisher, era)
    client.message_handler = hear
    async with client:
        assert [one.name for one in (await client.list_tools()).tools] == OWN
        if era == "legacy":
            platform.register(Kitchen())
            await asyncio.wait_for(told.wait(), 30)
        else:
            async with client.listen(tools_list_changed=True) as changes:
                platform.register(Kitchen())
                await asyncio.wait_for(anext(aiter(changes)), 30)
        assert [one.name for one in (await client.list_tools(cache_mode="refresh")).tools][:1] == ["cook_meal"]
        platform.unregister("Kitchen")
        assert [one.name for one in (await client.list_tools(cache_mode="refresh")).tools] == OWN


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(DeclarationError, match="it is neither a Runnable nor a tool"):
        McpPublisher(Platform(ScriptedModel()), 7)
    with pytest.raises(ConfigurationError, match="16 characters"):
        McpPublisher(Platform(ScriptedModel()), token="short")


async def test_two_tools_of_one_name_are_an_error_that_names_them() -> None:
    @tool(name="add")
    def other() -> str:
        """Add."""
        return ""

    async with connect(McpPublisher(Platform(ScriptedModel()), add, other)) as client:
        with pytest.raises(MCPError, match="'add' is used twice"):
            await client.list_tools()


class Course(BaseModel):
    is_hot: bool
    size: Literal["small", "large"]
    note: str = ""


@planned_agent(description="Brings a course.")
class Waiter:
    @achieves_goal("The course is there")
    @action
    def bring(self, course: Course) -> str:
        return "there"


class TestPrompts:
    @pytest.mark.parametrize("era", ERAS)
    async def test_one_for_each_goal_with_the_fields_of_its_input(self, era: Era) -> None:
        async with connect(McpPublisher(create_platform(), Agent("Helper")), era) as client:
            prompts = {one.name: one for one in (await client.list_prompts()).prompts}
            assert list(prompts) == ["cook_meal", "serve", "ask_wishes", "plan_orders", "helper"]
            arguments = prompts["cook_meal"].arguments or []
            assert [(one.name, one.required) for one in arguments] == [("dish", True), ("pieces", False)]
            (message,) = (await client.get_prompt("cook_meal", {"dish": "pie"})).messages
            assert isinstance(message.content, types.TextContent)
            assert message.content.text == (
                "Use the tool cook_meal: A meal is cooked. Cooks what is ordered.\ndish: pie"
            )

    async def test_missing_arguments_and_unknown_prompts(self) -> None:
        async with connect(McpPublisher(create_platform())) as client:
            with pytest.raises(MCPError, match=r"The prompt cook_meal needs: dish\."):
                await client.get_prompt("cook_meal", {})
            with pytest.raises(MCPError, match="There is no prompt 'nothing'"):
                await client.get_prompt("nothing", {})

    async def test_arguments_with_fixed_values_are_completed(self) -> None:
        async with connect(McpPublisher(Platform(ScriptedModel()), Waiter())) as client:
            reference = types.PromptReference(name="bring")
            for argument, beginning, values in (
                ("is_hot", "t", ["true"]),
                ("size", "", ["small", "large"]),
                ("size", "l", ["large"]),
                ("note", "", []),
                ("other", "", []),
            ):
                result = await client.complete(reference, {"name": argument, "value": beginning})
                assert result.completion.values == values


class TestWrittenPrompts:
    @pytest.mark.parametrize("era", ERAS)
    async def test_they_have_pictures_and_files(self, era: Era) -> None:
        picture, note = Image.from_bytes(b"\x89PNG\r\n\x1a\n"), Document.from_bytes(b"Frogs", "text/plain", "n.txt")

        async def review(title: str, tone: str = "kind") -> list[str | Message]:
            """Review a text."""
            asked = UserMessage((Text(f"Review {title}, {tone}"), picture, note))
            return ["Hello", asked, AssistantMessage((Text("Gladly."),))]

        publisher = McpPublisher(Platform(ScriptedModel()), prompts=[ServedPrompt("review", review)])
        async with connect(publisher, era) as client:
            (listed,) = (await client.list_prompts()).prompts
            messages = (await client.get_prompt("review", {"title": "Frogs", "other": "x"})).messages
            with pytest.raises(MCPError, match=r"The prompt review needs: title\."):
                await client.get_prompt("review", {})
            completed = await client.complete(types.PromptReference(name="review"), {"name": "title", "value": ""})

        assert listed.description == "Review a text."
        assert [(one.name, one.required) for one in listed.arguments or []] == [("title", True), ("tone", False)]
        assert [(message.role, message.content.type) for message in messages] == [
            ("user", "text"),
            *(("user", kind) for kind in ("text", "image", "resource")),
            ("assistant", "text"),
        ]
        assert messages[1].content == types.TextContent(text="Review Frogs, kind")
        assert completed.completion.values == []

    async def test_two_of_one_name_are_an_error(self) -> None:
        prompts = [ServedPrompt("a", lambda: "x"), ServedPrompt("a", lambda: "y")]
        async with connect(McpPublisher(Platform(ScriptedModel()), prompts=prompts)) as client:
            with pytest.raises(MCPError, match="'a' is used twice"):
                await client.list_prompts()


class TestChangesOfResources:
    @pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
    async def test_clients_of_the_old_era_subscribe(self) -> None:
        publisher = McpPublisher(Platform(ScriptedModel()), resources=[McpResource("notes://a", lambda: "a")])
        heard: dict[str, asyncio.Queue[str]] = {"first": asyncio.Queue(), "second": asyncio.Queue()}

        def open_client(name: str) -> Client:
            async def hear(message: object) -> None:
                if isinstance(message, types.ResourceUpdatedNotification):
                    heard[name].put_nowait(str(message.params.uri))

            client = connect(publisher, "legacy")
            client.message_handler = hear
            return client

        async with open_client("first") as first, open_client("second") as second:
            assert first.server_capabilities.resources == types.ResourcesCapability(subscribe=True, list_changed=True)
            await first.subscribe_resource("notes://a")
            await first.subscribe_resource("notes://b")
            await second.subscribe_resource("notes://b")
            publisher.announce_change("notes://a")
            publisher.announce_change("notes://b")
            async with asyncio.timeout(30):
                assert [await heard["first"].get(), await heard["first"].get()] == ["notes://a", "notes://b"]
                assert await heard["second"].get() == "notes://b"
            await first.unsubscribe_resource("notes://a")
            publisher.announce_change("notes://a")
            publisher.announce_change("notes://b")
            async with asyncio.timeout(30):
                assert await heard["first"].get() == "notes://b"

    async def test_clients_of_the_new_era_listen(self) -> None:
        publisher = McpPublisher(Platform(ScriptedModel()), resources=[McpResource("notes://a", lambda: "a")])
        async with connect(publisher) as client, client.listen(resource_subscriptions=["notes://a"]) as changes:
            publisher.announce_change("notes://b")
            publisher.announce_change("notes://a")
            async with asyncio.timeout(30):
                assert await anext(aiter(changes)) == ResourceUpdated("notes://a")

    @pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
    async def test_a_client_subscribes_to_some_only(self) -> None:
        async with connect(McpPublisher(Platform(ScriptedModel())), "legacy") as client:
            for number in range(MOST_SUBSCRIPTIONS):
                await client.subscribe_resource(f"notes://{number}")
            with pytest.raises(MCPError, match="may subscribe to 1,000 resources"):
                await client.subscribe_resource("notes://more")


class TestResources:
    @pytest.mark.parametrize("era", ERAS)
    async def test_texts_bytes_and_templates(self, era: Era) -> None:
        async def load(day: str) -> str:
            return f"notes of {day}"

        resources = [
            McpResource("notes://all", lambda: "all", name="Notes"),
            McpResource("notes://picture", lambda: b"\x89PNG", mime_type="image/png"),
            McpResource("notes://days/{day}", load),
        ]
        async with connect(McpPublisher(Platform(ScriptedModel()), resources=resources), era) as client:
            listed = (await client.list_resources()).resources
            assert [(one.uri, one.name) for one in listed] == [
                ("notes://all", "Notes"),
                ("notes://picture", "notes://picture"),
            ]
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "notes://days/{day}"
            (text,) = (await client.read_resource("notes://days/monday")).contents
            assert isinstance(text, types.TextResourceContents)
            assert text.text == "notes of monday"
            (blob,) = (await client.read_resource("notes://picture")).contents
            assert isinstance(blob, types.BlobResourceContents)
            assert (blob.blob, blob.mime_type) == ("iVBORw==", "image/png")
            with pytest.raises(MCPError, match="There is no resource notes://days/a/b"):
                await client.read_resource("notes://days/a/b")


async def test_long_lists_come_in_pages() -> None:
    def make(number: int) -> object:
        @tool(name=f"tool_{number}")
        def one() -> str:
            """Do something."""
            return ""

        return one

    async with connect(McpPublisher(Platform(ScriptedModel()), *map(make, range(150)))) as client:
        first = await client.list_tools()
        assert (len(first.tools), first.next_cursor) == (100, "100")
        second = await client.list_tools(cursor=first.next_cursor)
        assert (len(second.tools), second.next_cursor) == (53, None)
        with pytest.raises(MCPError, match="The cursor is not valid"):
            await client.list_tools(cursor="x")


async def test_the_banner_is_a_tool() -> None:
    async with connect(McpPublisher(Platform(ScriptedModel()), name="Acme")) as client:
        banner = read_json(await client.call_tool("hello_banner", {}))
        assert (banner["type"], banner["mode"]) == ("banner", "ASYNC")
        lines = banner["lines"]
        assert isinstance(lines, list)
        assert lines[1] == "Acme MCP ASYNC Server"


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['mcp_types'] = None\n"
        "from tactician.errors import MissingExtraError\n"
        "try:\n    from tactician.serve import McpPublisher\n"
        "except MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "tactician.serve.McpPublisher needs mcp_types, which is not installed. "
        'In your clone of Tactician, run: pip install ".[mcp]"\n'
    )
