"""Server of the SDK that has a tool for everything that a server can do. As a program, it speaks over stdio."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    CallToolResult,
    CreateMessageResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


class Weather(BaseModel):
    celsius: float


class Person(BaseModel):
    name: str
    age: int = 0


def ask() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


def think() -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Tell a joke"))
    return Sample([message], max_tokens=50, system_prompt="You are funny.")


class Demo:
    """The server, and what happened to its tools."""

    def __init__(self, name: str = "demo") -> None:
        self.server: MCPServer[object] = MCPServer(name, instructions="Be kind.", log_level="CRITICAL")
        self.cancelled = asyncio.Event()
        self.began = asyncio.Event()
        self.greeted: list[str] = []
        self._add_tools()
        self._add_pictures()
        self._add_questions()
        self._add_documents()

    def _add_tools(self) -> None:
        server = self.server

        @server.tool()
        def add(a: int, b: int) -> int:
            """Adds."""
            return a + b

        @server.tool(structured_output=True)
        def weather(city: str) -> Weather:
            """Tells the weather."""
            return Weather(celsius=len(city))

        @server.tool()
        def find(n: int) -> list[Weather]:
            """Finds the weather of places."""
            return [Weather(celsius=number) for number in range(n)]

        @server.tool()
        def names(n: int) -> list[str]:
            """Lists names."""
            return [f"N{number}" for number in range(n)]

        @server.tool(structured_output=False)
        def rows(n: int) -> list[Weather]:
            """Gives rows as texts only, as servers before 2025-06-18 do."""
            return [Weather(celsius=number) for number in range(n)]

        @server.tool(structured_output=False)
        def report() -> CallToolResult:
            """Gives a sentence for readers beside the data."""
            text = TextContent(type="text", text="It is 3 degrees.")
            return CallToolResult(content=[text], structured_content={"celsius": 3})

        @server.tool()
        def fail() -> str:
            """Fails."""
            raise ToolError("there is no way")

        @server.tool(name="odd/name.tool")
        def odd() -> str:
            """Has an odd name."""
            return "odd"

        @server.tool()
        async def walk(steps: int, ctx: Context[object, object]) -> str:
            """Walks."""
            for step in range(steps):
                await ctx.report_progress(step + 1, steps, f"step {step + 1}")
            return "arrived"

        @server.tool()
        async def wait() -> str:
            """Waits for ever."""
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return ""

        @server.tool()
        def die() -> str:
            """Ends the program."""
            os._exit(3)

    def _add_pictures(self) -> None:
        @self.server.tool(structured_output=False)
        def show() -> CallToolResult:
            """Shows everything."""
            return CallToolResult(
                content=[
                    TextContent(type="text", text="a picture:"),
                    ImageContent(type="image", data=PNG, mime_type="image/png"),
                    ImageContent(type="image", data=PNG, mime_type="image/tiff"),
                    AudioContent(type="audio", data=PNG, mime_type="audio/wav"),
                    ResourceLink(type="resource_link", uri="demo://1", name="one", description="the first"),
                    EmbeddedResource(type="resource", resource=TextResourceContents(uri="demo://2", text="the second")),
                ]
            )

        @self.server.tool(structured_output=False)
        def say(length: int) -> str:
            """Says a lot."""
            return "x" * length

    def _add_questions(self) -> None:
        @self.server.tool()
        async def greet(greeting: str, person: Annotated[Person, Resolve(ask)]) -> str:
            """Greets."""
            self.greeted.append(person.name)
            return f"{greeting} {person.name}, {person.age}"

        @self.server.tool()
        async def joke(told: Annotated[CreateMessageResult, Resolve(think)]) -> str:
            """Tells a joke."""
            assert isinstance(told.content, TextContent)
            return f"{told.model} says: {told.content.text}"

    def _add_documents(self) -> None:
        @self.server.resource("demo://manual", description="The manual", mime_type="text/plain")
        def manual() -> str:
            return "Press the button."

        @self.server.resource("demo://page/{number}", description="A page")
        def page(number: str) -> str:
            return f"page {number}"

        @self.server.prompt(description="A review")
        def review(language: str) -> str:
            return f"Review this in {language}."


if __name__ == "__main__":
    if "--fail" in sys.argv:
        sys.exit(f"it misses {os.environ.get('DEMO_KEY', 'a key')}")
    Demo().server.run("stdio")
