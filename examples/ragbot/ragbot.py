"""The ragbot: a chatbot that answers from documents, with citations, and goes on after a restart.

Run it with `python -m examples.ragbot.ragbot docs`; the documents are read once, and again when they have changed. With
a key, such as OPENAI_API_KEY, the model searches by itself. The embedded model is too small for that, and for answers
of its own: it says which of the sentences that a search has found answer the question, and these are quoted.

The persona and the objective are templates in `prompts/`: change them with `--persona clause --objective legal`.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import BaseModel, Field

from examples.ragbot.quotes import find_quotes
from tactician import Ai, AssistantMessage, Chatbot, LlmOptions, Platform, UserMessage, action, component, cost
from tactician.conversation import Conversation
from tactician.llm import ModelCatalog, Text
from tactician.rag import Chunking, CitationCheck, Library, RagTools, WordLlamaEmbedder, format_citation
from tactician.stores import SqliteStore

TEMPLATE = Path(__file__).parent / "prompts" / "ragbot.jinja"
CHUNKING = Chunking(max_chars=800, overlap=100)
EMBEDDER = WordLlamaEmbedder()


class RagbotProperties(BaseModel):
    persona: str = "margin"
    objective: str = "manual"
    chat_llm: LlmOptions = LlmOptions()
    model_searches: bool = True


class Choice(BaseModel):
    sentences: Annotated[list[Literal[1, 2, 3]], Field(min_length=1, max_length=2)]


@component
class ChatActions:
    def __init__(self, library: Library, properties: RagbotProperties) -> None:
        self.sources = RagTools("sources", "Sources for answering user questions", library)
        self.properties = properties

    @cost
    def searching(self) -> float:
        return 0.1 if self.properties.model_searches else 1.0

    @action(trigger=UserMessage, can_rerun=True, cost_method="searching")
    async def respond(self, conversation: Conversation, ai: Ai) -> AssistantMessage:
        """Let the model search until it can answer."""
        asking = ai.with_llm(self.properties.chat_llm).with_reference(self.sources).with_template(TEMPLATE)
        checked = asking.with_output_guardrails(CitationCheck(self.sources))
        return await self.show((await checked.respond(conversation, {"properties": self.properties})).text)

    @action(trigger=UserMessage, can_rerun=True, cost=0.5)
    async def respond_briefly(self, message: UserMessage, ai: Ai) -> AssistantMessage:
        """Search for the question, and quote the sentences that the model chooses from what was found."""
        found = await self.sources.retrieve(message.text, top_k=8)
        quotes = (await find_quotes(message.text, found.chunks, EMBEDDER))[:3]
        if not quotes:
            return await self.show("The documents do not say anything about it.")
        listed = "\n".join(f"{number}. {quote.text}" for number, quote in enumerate(quotes, start=1))
        asking = ai.with_llm(self.properties.chat_llm).with_system_prompt("Say which sentences answer the question.")
        choice = await asking.create(Choice, f"{listed}\n\nQuestion: {message.text}")
        numbers = choice.sentences if 1 in choice.sentences else [1, *choice.sentences]
        chosen = [quotes[number - 1] for number in dict.fromkeys(numbers) if number <= len(quotes)]
        said = [f"{quote.text} {format_citation(quote.chunk.id)}" for quote in chosen]
        return await self.show(" ".join(said))

    async def show(self, text: str) -> AssistantMessage:
        """Return an answer with numbered sources."""
        return AssistantMessage((Text(str(await self.sources.resolve_citations(text))),))


async def create_bot(platform: Platform, library: Library, properties: RagbotProperties) -> Chatbot:
    """Return the chatbot over all actions of the platform."""
    return Chatbot(platform.register(ChatActions(library, properties)), name="Ragbot")


async def ingest(library: Library, location: str) -> str:
    """Read the documents that are new or have changed."""
    report = await library.ingest(location)
    for failure in report.failures:
        print(failure)
    return f"{len(report.added)} documents were read."


async def chat(location: str, properties: RagbotProperties, session_id: str) -> None:
    """Talk on the terminal."""
    library = Library("ragbot-library.db", chunking=CHUNKING, embedder=EMBEDDER)
    async with library, Platform(store=SqliteStore("ragbot.db")) as platform:
        print(await ingest(library, location))
        bot = await create_bot(platform, library, properties)
        session = await bot.session("me", id=session_id)
        while question := await asyncio.to_thread(input, "> "):
            print((await session.send(question)).text)


def main(
    location: Annotated[str, typer.Argument(help="a file, a folder or an address")] = "docs",
    persona: Annotated[str, typer.Option(help="the template in prompts/personas")] = "margin",
    objective: Annotated[str, typer.Option(help="the template in prompts/objectives")] = "manual",
    session: Annotated[str, typer.Option(help="id of the session, which goes on after a restart")] = "terminal",
) -> None:
    """Answer questions about documents."""
    searches = ModelCatalog().default[0] != "local"
    llm = LlmOptions() if searches else LlmOptions(max_tokens=100, temperature=0)
    properties = RagbotProperties(persona=persona, objective=objective, chat_llm=llm, model_searches=searches)
    asyncio.run(chat(location, properties, session))


if __name__ == "__main__":
    typer.run(main)
