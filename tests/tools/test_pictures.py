"""Pictures that functions return as tools."""

from __future__ import annotations

import pytest

from tactician import Agent, Image, Platform, tool
from tactician.llm import ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import ToolOutput

PNG = Image.from_bytes(b"\x89PNG\r\n\x1a\n")
GIF = Image.from_bytes(b"GIF89a")


async def call(returned: object) -> ToolResult:
    @tool
    def look() -> object:
        """Look."""
        return returned

    model = ScriptedModel(ToolCall("look"), "done")
    await Agent("Watcher", tools=[look]).run("look", context=Platform(model).context())
    (result,) = [message for message in model.calls[1].messages if isinstance(message, ToolResult)]
    return result


@pytest.mark.parametrize(
    ("returned", "text", "images"),
    [
        (PNG, "1 picture", (PNG,)),
        ([PNG, GIF], "2 pictures", (PNG, GIF)),
        (("a cat", PNG, {"legs": 4}), 'a cat\n{"legs":4}', (PNG,)),
        (ToolOutput("two", (PNG, GIF)), "two", (PNG, GIF)),
        (Image(data=GIF.data, media_type="image/png"), "1 picture", (GIF,)),
        (["no picture"], '["no picture"]', ()),
    ],
)
async def test_the_model_gets_them_beside_the_text(returned: object, text: str, images: tuple[Image, ...]) -> None:
    result = await call(returned)
    assert (result.content, result.images, result.is_error) == (text, images, False)


@pytest.mark.parametrize("returned", [Image(data="bm90aGluZw=="), [PNG] * 21, Image(url="file:///etc/passwd")])
async def test_what_is_no_picture_is_an_error_for_the_model(returned: object) -> None:
    result = await call(returned)
    assert result.is_error
    assert "pictures that cannot be shown" in result.content
    assert result.images == ()
