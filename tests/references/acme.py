"""Kinds of references and contributors of a program, which files name."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.prompts import LlmReference, PromptContributor
from tactician.runs import RunContext


@dataclass(frozen=True)
class Shelf(LlmReference):
    """Books of a shelf."""

    name: str
    description: str
    max_books: int = 3

    @property
    def place_of_books(self) -> str:
        return f"{self.max_books} books"


@dataclass(frozen=True)
class HouseRule(PromptContributor):
    """A rule of the house."""

    text: str

    def contribution(self) -> str:
        return self.text


def greet(context: RunContext) -> str:
    return f"Run in {context.path[-1]}."


def not_for_files() -> int:
    return 1
