"""What the agent files of these tests may name."""

from __future__ import annotations

import subprocess
from subprocess import Popen

from pydantic import BaseModel, Field

from tactician.llm import ToolCall

__all__ = ["Analysis", "NeedsMore", "Popen", "Query", "Search", "Tree", "Weather", "execute_all", "subprocess"]


class Analysis(BaseModel):
    summary: str
    key_points: list[str]
    confidence: float


class Query(BaseModel):
    query: str = Field(description="Search query")


class Tree(BaseModel):
    name: str
    branches: list[Tree]


class Search:
    def execute(self, call: ToolCall) -> str:
        return f"class found {call.parse_arguments()['query']}"


class Weather:
    def forecast(self, location: str, days: int = 1) -> str:
        return f"{days} days of rain in {location}"

    @staticmethod
    def climate(location: str) -> str:
        return f"mild in {location}"

    def untyped(self, location):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        return location

    def _secret(self) -> str:
        return "secret"


class NeedsMore:
    def __init__(self, more: str) -> None:
        self.more = more

    def run(self) -> str:
        return self.more


class Inert:
    pass


def execute_all(call: ToolCall) -> str:
    return f"function executed {call.name}"
