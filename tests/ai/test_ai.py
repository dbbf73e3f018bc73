"""One typed call to a model, said fluently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import Agent, Ai, AssistantMessage, Image, LlmOptions, ToolGroup, UserMessage, tool
from tactician.config import ModelSettings, Settings
from tactician.conversation import Conversation
from tactician.errors import ConfigurationError, DeclarationError, ModelServerError
from tactician.llm import (
    EmbeddingModel,
    Features,
    ImageModel,
    Message,
    ModelCatalog,
    OneModel,
    RoutingOptions,
    Text,
    ToolResult,
    Usage,
)
from tactician.llm.embeddings.model import EmbeddingOptions, Embeddings
from tactician.llm.images import GeneratedImages, ImageOptions
from tactician.llm.messages import SystemMessage
from tactician.llm.options import NO_ROUTING_OPTIONS
from tactician.llm.usage import UsageTally
from tactician.prompts import CurrentDate, Persona, Reference
from tactician.runs import OutputError, RunContext, TurnLimitError
from tactician.testing import ScriptedModel, ToolCall


class Person(BaseModel):
    name: str
    age: int


@dataclass
class Story:
    text: str


ADA = Person(name="Ada", age=36)


@dataclass
class Vectors(EmbeddingModel):
    """A text's vector is its length."""

    called: str

    @property
    def name(self) -> str:
        return self.called

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = EmbeddingOptions()) -> Embeddings:  # noqa: B008
        lengths = [len(text) for text in texts]
        used = Usage(sum(lengths), requests=1, model=self.name)
        return Embeddings(tuple((float(length),) for length in lengths), self.name, used)


@dataclass
class Painter(ImageModel):
    """A picture's address is its prompt."""

    called: str

    @property
    def name(self) -> str:
        return self.called

    async def generate(
        self,
        prompt: str,
        *,
        size: str = "",
        quality: str = "",
        n: int = 1,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        return GeneratedImages(
            (Image(url=f"{self.name}: {prompt}"),), self.name, Usage(3, 5, requests=1, model=self.name)
        )

    async def edit(
        self,
        image: Image,
        prompt: str,
        *,
        mask: Image | None = None,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        return await self.generate(prompt)


class Artists(ModelCatalog):
    """Makes vectors and pictures without asking anybody."""

    def __init__(self) -> None:
        super().__init__(Settings(), {})

    def embedding_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> EmbeddingModel:
        return Vectors(name or "vectors")

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> ImageModel:
        return Painter(name or "painter")


def system_of(model: ScriptedModel, call: int = 0) -> str:
    first = model.calls[call].messages[0]
    return first.text if isinstance(first, SystemMessage) else ""


class TestAnswers:
    async def test_text(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("A frog walks in.")

        assert await scripted_model.ai().generate_text("A joke") == "A frog walks in."
        assert scripted_model.calls[0].messages == (UserMessage("A joke"),)
        assert scripted_model.calls[0].output is None

    async def test_an_object_of_a_type(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script(ADA, Story("Once"), {"value": 7}, {"value": [{"name": "Ada", "age": 36}]})
        ai = scripted_model.ai()

        assert await ai.create(Person, "Who?") == ADA
        assert await ai.create(Story, "What?") == Story("Once")
        assert await ai.create(int, "How many?") == 7
        assert await ai.create(list[Person], "Who else?") == [ADA]
        assert [call.output.name for call in scripted_model.calls if call.output] == ["Person", "Story", "int", "list"]

    async def test_an_object_from_an_object(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("short")

        await scripted_model.ai().generate_text({"topic": "the sea"})

        assert scripted_model.calls[0].prompt == '{"topic":"the sea"}'

    async def test_an_invalid_answer_is_corrected(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("?", ADA)

        assert await scripted_model.ai().create(Person, "Who?") == ADA
        assert "That is not a valid Person" in scripted_model.calls[1].prompt

    async def test_attempts_are_limited(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("?", "?", "?", "last")

        with pytest.raises(OutputError, match="3 attempts"):
            await scripted_model.ai().create(Person, "Who?")
        with pytest.raises(OutputError, match="1 attempt") as raised:
            await scripted_model.ai().with_max_attempts(1).create(Person, "Who?")
        assert raised.value.last_reply == "last"

    @pytest.mark.parametrize("judgement", [True, False])
    async def test_a_judgement(self, scripted_model: ScriptedModel, judgement: bool) -> None:
        scripted_model.script({"value": judgement})

        assert await scripted_model.ai().evaluate_condition("it is polite", "Go away") is judgement
        assert "it is polite" in scripted_model.calls[0].prompt
        assert "<subject>\nGo away\n</subject>" in scripted_model.calls[0].prompt

    async def test_the_next_message_of_a_conversation(self, scripted_model: ScriptedModel) -> None:
        conversation: list[Message] = [UserMessage("hi"), AssistantMessage((Text("ho"),)), UserMessage("and?")]
        scripted_model.script("so")

        reply = await scripted_model.ai().with_system_prompt("Be brief").respond(conversation)

        assert reply == AssistantMessage((Text("so"),))
        assert scripted_model.calls[0].messages == (SystemMessage("Be brief"), *conversation)
        assert len(conversation) == 3

    async def test_a_kept_conversation_stays_as_it_is(self, scripted_model: ScriptedModel) -> None:
        conversation = Conversation([UserMessage("hi"), AssistantMessage((Text("ho"),)), UserMessage("and?")])
        scripted_model.script("so", "so")

        await scripted_model.ai().respond(conversation)
        await scripted_model.ai().respond(conversation.messages)

        for call in scripted_model.calls:
            assert call.messages == tuple(conversation.messages)
        assert len(conversation) == 3

    async def test_errors_of_the_model_are_passed_on(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script(ModelServerError("down"), ModelServerError("down"))

        with pytest.raises(ModelServerError):
            await scripted_model.ai().generate_text("hi")
        with pytest.raises(ModelServerError):
            await scripted_model.ai().create_if_possible(Person, "hi")


class TestIfPossible:
    async def test_an_object_when_there_is_one(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script({"value": ADA.model_dump()})

        assert await scripted_model.ai().create_if_possible(Person, "Ada, 36") == ADA
        assert "null" in system_of(scripted_model)

    async def test_none_when_the_model_says_so(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script({"value": None}, "null")

        assert await scripted_model.ai().create_if_possible(Person, "nobody") is None
        assert await scripted_model.ai().create_if_possible(int, "nothing") is None

    async def test_none_when_no_answer_is_valid(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("?", "?")

        assert await scripted_model.ai().with_max_attempts(2).create_if_possible(Person, "Who?") is None

    async def test_text_can_be_none_as_well(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script({"value": None}, {"value": "words"})
        ai = scripted_model.ai()

        assert await ai.create_if_possible(str, "x") is None
        assert await ai.create_if_possible(str, "x") == "words"


class Shop:
    @tool
    def price_of(self, product: str) -> int:
        """The price of a product."""
        return len(product)


def search(word: str) -> str:
    """Searches."""
    return word


def shout(text: str) -> str:
    """Says it loudly."""
    return text.upper()


class TestWhatGoesIntoTheRequest:
    async def test_system_prompts_and_examples(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script(ADA)
        ai = scripted_model.ai().with_system_prompt("Be brief.").with_example("a boy", Person(name="Tom", age=7))

        await ai.with_system_prompt("Be kind.").create(Person, "Who?")

        assert system_of(scripted_model) == ('Be brief.\n\nBe kind.\n\nExample (a boy):\n{"name":"Tom","age":7}')

    async def test_pictures(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("A cat", "A cat")
        first, second = Image(url="https://example.com/a.png"), Image.from_bytes(b"\xff\xd8\xff")

        await scripted_model.ai().with_image(first).with_image(second).generate_text("What is it?")
        await scripted_model.ai().with_images(first, second).generate_text("What is it?")

        for call in scripted_model.calls:
            assert call.messages == (UserMessage((Text("What is it?"), first, second)),)

    async def test_pictures_join_the_last_user_message(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("x", "y")
        picture = Image(url="u")
        ai = scripted_model.ai().with_image(picture)
        greeting = AssistantMessage((Text("Hello"),))

        await ai.respond([UserMessage("a"), UserMessage("b"), greeting])
        await ai.respond([greeting])

        assert scripted_model.calls[0].messages == (UserMessage("a"), UserMessage((Text("b"), picture)), greeting)
        assert scripted_model.calls[1].messages == (greeting, UserMessage((picture,)))

    async def test_tools_and_tool_objects(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script([ToolCall("price_of", product="tea"), ToolCall("shout", text="a")], "3 A")

        text = await scripted_model.ai().with_tool_object(Shop()).with_tools(shout).generate_text("hi")

        assert text == "3 A"
        assert [one.name for one in scripted_model.calls[0].tools] == ["price_of", "shout"]
        results = [one.content for one in scripted_model.calls[1].messages if isinstance(one, ToolResult)]
        assert results == ["3", "A"]

    async def test_tools_without_an_end(self) -> None:
        model = ScriptedModel()
        model.when(prompt_contains="hi").reply(ToolCall("shout", text="x"))

        with pytest.raises(TurnLimitError):
            await model.ai().with_tools(shout).generate_text("hi")

    async def test_an_object_without_tools_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="no method declared with @tool"):
            Ai.over(ScriptedModel()).with_tool_object(ADA)

    async def test_options(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("x", "y")
        ai = scripted_model.ai().with_llm(LlmOptions(temperature=0.2, max_tokens=5))

        await ai.with_llm(LlmOptions(temperature=0.9)).generate_text("hi")
        await ai.with_llm("gpt-5.4").generate_text("hi")

        assert scripted_model.calls[0].options == LlmOptions(temperature=0.9, max_tokens=5)
        assert scripted_model.calls[1].options == LlmOptions(model="gpt-5.4", temperature=0.2, max_tokens=5)

    async def test_a_model_that_can_do_less_is_asked_in_another_way(self) -> None:
        model = ScriptedModel(ADA.model_dump_json(), features=Features())

        assert await model.ai().create(Person, "Who?") == ADA
        assert "JSON schema" in system_of(model)


class TestModels:
    def catalog(self) -> ModelCatalog:
        roles = {"writer": "ollama:big", "reviewer": "ollama:small"}
        return ModelCatalog(Settings(models=ModelSettings(default="ollama:usual", roles=roles)), {})

    def test_a_role_or_a_name_replaces_the_one_before(self) -> None:
        ai = Ai.over(self.catalog()).with_llm(LlmOptions(model="ollama:first", temperature=0.1))

        for chosen, name in (
            (ai, "ollama:first"),
            (ai.with_llm_by_role("writer"), "ollama:big"),
            (ai.with_llm_by_role("writer").with_llm("role:reviewer"), "ollama:small"),
            (ai.with_llm_by_role("writer").with_llm("ollama:last"), "ollama:last"),
        ):
            assert chosen.context.models.resolve(chosen.options).name == name
            assert chosen.options.temperature == 0.1

    async def test_an_unknown_role_fails_when_it_is_used(self) -> None:
        with pytest.raises(ConfigurationError, match=re.escape("No model has the role 'poet'")):
            await Ai.over(self.catalog()).with_llm_by_role("poet").generate_text("hi")

    async def test_one_model_or_a_source_of_models(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("a", "b")

        assert await Ai.over(scripted_model).with_llm("whatever").generate_text("hi") == "a"
        assert await Ai.over(OneModel(scripted_model)).generate_text("hi") == "b"

    async def test_a_model_in_the_place_of_a_name(self, scripted_model: ScriptedModel) -> None:
        other = ScriptedModel("a", "b")
        scripted_model.script("c")
        ai = scripted_model.ai().with_llm(LlmOptions(model="x", temperature=0.1)).with_llm(other)

        assert await ai.generate_text("hi") == "a"
        assert await ai.with_llm(LlmOptions(max_tokens=5)).generate_text("hi") == "b"
        assert await ai.with_llm("named").generate_text("hi") == "c"
        assert other.calls[1].options == LlmOptions(temperature=0.1, max_tokens=5)
        assert scripted_model.calls[0].options == LlmOptions(model="named", temperature=0.1)

    async def test_usage_is_counted_in_its_context(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("a", "b")
        tally = UsageTally()
        ai = Ai(replace(RunContext.over(scripted_model), tally=tally))

        await ai.generate_text("hi")
        await ai.with_system_prompt("x").generate_text("hi")

        assert tally.total.requests == 2

    async def test_embeddings_and_images_are_counted_in_its_context(self) -> None:
        ai = Ai(RunContext.over(Artists()))

        assert await ai.embed("a") == (1.0,)
        assert await ai.embed_all(["bb", "ccc"], model="other") == ((2.0,), (3.0,))
        assert await ai.image("a cat") == Image(url="painter: a cat")
        assert {name: used.total_tokens for name, used in ai.context.tally.by_model.items()} == {
            "vectors": 1, "other": 5, "painter": 8,
        }  # fmt: skip

    async def test_language_models_alone_have_no_embeddings_and_no_images(self, scripted_model: ScriptedModel) -> None:
        for call in (scripted_model.ai().embed("a"), scripted_model.ai().image("a")):
            with pytest.raises(ConfigurationError, match="ScriptedModel alone makes no embeddings and no images"):
                await call

    def test_without_an_event_loop(self, scripted_model: ScriptedModel) -> None:
        scripted_model.script("a", ADA)

        assert scripted_model.ai().generate_text_sync("hi") == "a"
        assert scripted_model.ai().create_sync(Person, "Who?") == ADA

    def test_the_default_comes_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tactician.llm.catalog import load_default_models

        monkeypatch.setenv("TACTICIAN_MODEL", "ollama:mine")
        monkeypatch.delenv("LLM_INSTANCES", raising=False)
        load_default_models.cache_clear()
        try:
            assert Ai.default().context.models.resolve(LlmOptions()).name == "ollama:mine"
        finally:
            load_default_models.cache_clear()


async def test_all_of_it_at_once(tmp_path: Path) -> None:
    model = ScriptedModel([ToolCall("price_of", product="tea"), ToolCall("search", word="sea")], Story("Waves."))
    catalog = ModelCatalog(Settings(models=ModelSettings(roles={"writer": "local"})), {})
    brief = tmp_path / "brief.jinja"
    brief.write_text("Write about {{ topic }}.")
    ai = (
        Ai.over(catalog)
        .with_llm_by_role("writer")
        .with_llm(model)
        .with_tool_group(ToolGroup("web", [search]))
        .with_tool_object(Shop())
        .with_prompt_contributor(Persona("Bo", "A poet"))
        .with_reference(Reference("Rules", "What poets do", "No rhymes."))
        .with_image(Image(url="u"))
        .with_example("a short one", Story("So."))
        .with_template(brief)
    )

    assert await ai.create(Story, {"topic": "the sea"}) == Story("Waves.")

    system, asked = model.calls[0].messages
    assert isinstance(system, SystemMessage)
    assert [part.partition("\n")[0] for part in system.text.split("\n\n")] == [
        "You are Bo.", "Reference: Rules", "Example (a short one):",
    ]  # fmt: skip
    assert asked == UserMessage((Text("Write about the sea."), Image(url="u")))
    assert [one.name for one in model.calls[0].tools] == ["price_of", "search"]


def test_every_with_gives_a_changed_copy() -> None:
    ai = Ai.over(ScriptedModel())

    copies = [
        ai.with_llm("x"),
        ai.with_llm_by_role("x"),
        ai.with_system_prompt("x"),
        ai.with_tools(shout),
        ai.with_tool_object(Shop()),
        ai.with_image(Image(url="u")),
        ai.with_example("x", ADA),
        ai.with_generated_example(),
        ai.with_max_attempts(1),
        ai.with_llm(ScriptedModel()),
        ai.with_subagents(Agent("Helper")),
        ai.with_tool_group("web"),
        ai.with_prompt_contributor(CurrentDate()),
        ai.with_reference(Reference("Rules", "What guests do")),
        ai.with_template("x"),
    ]

    assert ai == Ai(ai.context)
    assert all(copy != ai and copy.context is ai.context for copy in copies)


def test_it_does_not_show_its_context() -> None:
    assert "context" not in repr(Ai.over(ScriptedModel()))
