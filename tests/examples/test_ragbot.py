"""The ragbot example: scripted, over a restart, and on the embedded model with the project's own documentation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from examples.ragbot.ragbot import CHUNKING, EMBEDDER, Choice, RagbotProperties, create_bot, ingest
from tactician import Platform
from tactician.llm import LanguageModel, LlmOptions
from tactician.rag import Chunk, Library, format_citation
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall

DOCS = Path(__file__).parent.parent.parent / "docs"
LARGE = RagbotProperties()
SMALL = RagbotProperties(model_searches=False, chat_llm=LlmOptions(max_tokens=100, temperature=0))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of how-to pages."""
    path = tmp_path_factory.mktemp("ragbot") / "library.db"

    async def fill() -> None:
        async with Library(path, chunking=CHUNKING, embedder=EMBEDDER) as library:
            assert (await ingest(library, str(DOCS / "how-to"))).endswith(" documents were read.")

    asyncio.run(fill())
    return path


@pytest.fixture
async def library(file: Path) -> AsyncIterator[Library]:
    async with Library(file, chunking=CHUNKING, embedder=EMBEDDER) as library:
        yield library


async def ask(model: LanguageModel | None, library: Library, properties: RagbotProperties, question: str) -> str:
    async with Platform(model) as platform:
        session = await (await create_bot(platform, library, properties)).session("alice")
        return (await session.send(question)).text


async def test_the_model_searches_and_cites(library: Library) -> None:
    (hit,) = await library.text('"runs in Temporal" workers', top_k=1)
    model = ScriptedModel(
        ToolCall("sources_text_search", query="workers"),
        "Start a worker. [cite:made.7]",
        f"Start a worker. {format_citation(hit.id)}",
    )
    answer = await ask(model, library, LARGE, "Where does it run?")
    assert answer.startswith("Start a worker. [1]\n\n[1] ")
    assert answer.endswith(f"({hit.uri.rpartition('/')[2]})"), "readers see no folders of the server"
    system = model.calls[0].messages[0].text
    assert "DO NOT DISCUSS POLITICS OR CONTROVERSIAL TOPICS.\n\nYour name is Margin." in system
    assert "NEVER FABRICATE ANSWERS." in system
    assert "These citations are of no chunk: made.7." in model.calls[2].prompt


async def test_the_persona_and_the_objective_are_templates(library: Library) -> None:
    model = ScriptedModel("It is not said.")
    await ask(model, library, RagbotProperties(persona="clause", objective="legal"), "What about taxes?")
    assert "Your name is Clause." in model.calls[0].messages[0].text
    assert "authoritative interpreter of legislation" in model.calls[0].messages[0].text


async def test_a_small_model_chooses_among_sentences(library: Library) -> None:
    model = ScriptedModel(Choice(sentences=[3, 1]))
    answer = await ask(model, library, SMALL, "How large may a picture be?")
    listed = dict(re.findall(r"^(\d)\. (.+)$", model.calls[0].prompt, re.MULTILINE))
    assert any("at most 20 MB" in sentence for sentence in listed.values())
    assert answer.startswith(f"{listed['3']} [1] {listed['1']} [")
    assert await ask(ScriptedModel(), library, SMALL, "zzzyx") == "The documents do not say anything about it."


async def test_a_chat_goes_on_after_a_restart(library: Library, tmp_path: Path) -> None:
    replies: list[str] = []
    said: list[str] = []
    for number in (1, 2):
        model = ScriptedModel(f"Answer {number}.")
        async with Platform(model, store=SqliteStore(tmp_path / "ragbot.db")) as platform:
            session = await (await create_bot(platform, library, LARGE)).session("alice", id="terminal")
            replies.append((await session.send(f"Question {number}?")).text)
            said = [message.text for message in model.calls[0].messages[1:]]
    assert replies == ["Answer 1.", "Answer 2."]
    assert said == ["Question 1?", "Answer 1.", "Question 2?"]


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("question", "fact", "page"),
    [
        ("How does a run wait for a person?", "the person at the client gets a form", "mcp-server.md"),
        ("How large may a picture be?", "at most 20 MB", "pictures.md"),
        ("How long is an upload kept?", "is kept for a day", "pictures.md"),
        ("What is a scope of a library?", "a filter on the metadata of documents", "agentic-rag.md"),
        ("How do I test an agent without calling a model?", "a model that follows a script", "testing.md"),
        ("How is a chat continued after a restart?", "the conversation continues after a restart", "shell.md"),
    ],
)
async def test_the_embedded_model_answers_from_the_documentation_with_citations(
    library: Library, question: str, fact: str, page: str
) -> None:
    answer = await ask(None, library, SMALL, question)
    text, _, sources = answer.partition("\n\n")
    assert "[?]" not in text
    assert fact in text
    (number,) = re.findall(rf"{re.escape(fact)}[^\[]*\[(\d)\]", text)
    (address,) = re.findall(rf"^\[{number}\] .+\((.+)\)$", sources, re.MULTILINE)
    assert address.endswith(page)
    cited = [chunk for chunk in await load_all(library, fact) if chunk.uri.endswith(f"/{address}")]
    assert any(fact in " ".join(chunk.text.split()) for chunk in cited)


async def load_all(library: Library, fact: str) -> list[Chunk]:
    """Return the chunks with the words of a fact."""
    return [hit.chunk for hit in await library.text(f'"{fact}"', top_k=20)]
