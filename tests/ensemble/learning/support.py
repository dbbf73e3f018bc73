"""Contexts with clocks, embeddings without a model, and addresses of databases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tactician import RunContext
from tactician.errors import ModelError
from tactician.events.bus import EventListener
from tactician.llm import EmbeddingModel, Usage
from tactician.llm.embeddings.model import EmbeddingOptions, Embeddings
from tactician.stores import DocumentStore
from tactician.testing import FakeClock, ScriptedModel

TOPICS = ("frog", "tax", "moon")


def over(
    *steps: object,
    clock: FakeClock | None = None,
    store: DocumentStore | None = None,
    listener: EventListener | None = None,
) -> RunContext:
    """A context whose model has a script."""
    model = ScriptedModel(*steps)
    return RunContext.over(model, listener, store=store, clock=clock or FakeClock())


def now(clock: FakeClock) -> datetime:
    return datetime.fromtimestamp(clock.time(), UTC)


class TopicEmbeddings(EmbeddingModel):
    """Model whose vectors count the words of three topics."""

    def __init__(self, name: str = "topics") -> None:
        self._name = name
        self.texts: list[str] = []
        self.is_down = False

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = EmbeddingOptions()) -> Embeddings:  # noqa: B008
        if self.is_down:
            raise ModelError("it is down", model=self.name)
        self.texts += texts
        vectors = tuple(tuple(float(text.count(topic)) for topic in TOPICS) for text in texts)
        return Embeddings(vectors, self.name, Usage(7, requests=1, model=self.name))
