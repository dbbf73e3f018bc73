"""What a model may look things up in."""

from __future__ import annotations

import pytest

from tactician import tool
from tactician.errors import DeclarationError
from tactician.llm import ToolResult
from tactician.llm.messages import SystemMessage
from tactician.prompts import LlmReference, Reference
from tactician.runs import RunContext
from tactician.testing import ScriptedModel, ToolCall


class Handbook(LlmReference):
    """A reference with tools of its own."""

    def __init__(self, name: str, pages: dict[str, str]) -> None:
        self.name = name
        self.description = f"The handbook of {name}"
        self.notes = f"It has {len(pages)} pages. Search before you read."
        self.pages = pages

    @tool
    def search(self, word: str, context: RunContext) -> str:
        """The titles of the pages with a word."""
        return ", ".join(title for title, text in self.pages.items() if word in text)

    @tool(return_direct=True)
    async def read(self, title: str) -> str:
        """The text of a page."""
        return self.pages[title]


ACME = Handbook("Acme", {"Holidays": "30 days of holidays", "Pay": "paid on the last day"})
MYTH = Handbook("My Thing", {})


def system_of(model: ScriptedModel) -> str:
    first = model.calls[0].messages[0]
    return first.text if isinstance(first, SystemMessage) else ""


async def test_the_model_is_told_what_it_is_and_how_to_use_it(scripted_model: ScriptedModel) -> None:
    scripted_model.script("x")

    await scripted_model.ai().with_reference(ACME).generate_text("How many holidays?")

    assert system_of(scripted_model) == (
        "Reference: Acme\n"
        "What it is: The handbook of Acme\n"
        "Its tools: acme_search, acme_read\n"
        "It has 2 pages. Search before you read."
    )


async def test_its_tools_are_used_by_names_that_begin_with_its_own(scripted_model: ScriptedModel) -> None:
    scripted_model.script(ToolCall("acme_search", word="holidays"), ToolCall("acme_read", title="Holidays"))

    text = await scripted_model.ai().with_reference(ACME).generate_text("How many holidays?")

    assert text == "30 days of holidays"  # what is special about a tool stays: `read` returns its result directly
    found = [one.content for one in scripted_model.calls[1].messages if isinstance(one, ToolResult)]
    assert found == ["Holidays"]


async def test_two_references_of_one_class_do_not_disturb_each_other(scripted_model: ScriptedModel) -> None:
    scripted_model.script("x")

    await scripted_model.ai().with_references(ACME, MYTH).generate_text("hi")

    assert [one.name for one in scripted_model.calls[0].tools] == [
        "acme_search", "acme_read", "my_thing_search", "my_thing_read",
    ]  # fmt: skip
    assert "The handbook of Acme" in system_of(scripted_model)
    assert "The handbook of My Thing" in system_of(scripted_model)


async def test_two_references_of_one_name_are_refused(scripted_model: ScriptedModel) -> None:
    with pytest.raises(DeclarationError, match="'acme_search' is used twice"):
        await scripted_model.ai().with_references(ACME, ACME).generate_text("hi")


async def test_arguments_that_are_not_valid_go_back_to_the_model(scripted_model: ScriptedModel) -> None:
    scripted_model.script(ToolCall("acme_search", phrase="x"), "sorry")

    assert await scripted_model.ai().with_reference(ACME).generate_text("hi") == "sorry"
    assert "word: Field required" in scripted_model.calls[1].prompt


async def test_a_text_is_a_reference(scripted_model: ScriptedModel) -> None:
    scripted_model.script("x")

    await scripted_model.ai().with_reference(Reference("House rules", "What guests do", "No shoes.")).generate_text("?")

    assert system_of(scripted_model) == "Reference: House rules\nWhat it is: What guests do\nNo shoes."
    assert scripted_model.calls[0].tools == ()


async def test_functions_are_a_reference(scripted_model: ScriptedModel) -> None:
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    scripted_model.script(ToolCall("outside_weather", city="Paris"), "It rains")
    outside = Reference("outside", "What goes on outside", tools=[weather])

    assert await scripted_model.ai().with_prompt_contributor(outside).generate_text("Paris?") == "It rains"
    assert "rain in Paris" in scripted_model.calls[1].prompt


async def test_a_reference_may_have_nothing_but_a_name_and_a_description(scripted_model: ScriptedModel) -> None:
    class Nothing(LlmReference):
        name = "Nothing"
        description = "What there is"

    scripted_model.script("x")

    await scripted_model.ai().with_reference(Nothing()).generate_text("hi")

    assert system_of(scripted_model) == "Reference: Nothing\nWhat it is: What there is"


async def test_a_long_name_is_cut_to_what_providers_take(scripted_model: ScriptedModel) -> None:
    scripted_model.script("x")

    await scripted_model.ai().with_reference(Handbook("A" * 60, {})).generate_text("hi")

    assert [one.name for one in scripted_model.calls[0].tools] == [
        "a" * 50 + "_c5fb23_search",
        "a" * 52 + "_c5fb23_read",
    ]
