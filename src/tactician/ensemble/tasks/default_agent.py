"""Agents for tasks without an agent."""

from __future__ import annotations

import re
from typing import Final

from tactician.agents import Agent
from tactician.agents.spec import AgentSettings
from tactician.ensemble.tasks.task import Task

DEFAULT_ROLE: Final = "Specialist"
_MOST_WORDS: Final = 8
_VERBS_OF: Final = {
    "Analyst": "analyze analyse compare measure interpret",
    "Calculator": "calculate compute count add",
    "Classifier": "classify categorize categorise label sort",
    "Designer": "design sketch lay",
    "Developer": "develop implement code program build fix refactor",
    "Editor": "edit revise proofread polish rewrite shorten",
    "Evaluator": "evaluate assess judge rate score rank",
    "Extractor": "extract parse",
    "Planner": "plan schedule organize organise prepare",
    "Researcher": "research investigate find search explore gather collect look",
    "Reviewer": "review check verify validate audit inspect",
    "Summarizer": "summarize summarise condense",
    "Teacher": "explain teach describe",
    "Tester": "test",
    "Translator": "translate",
    "Writer": "write draft compose create generate produce report",
}
_ROLE_OF: Final = {verb: role for role, verbs in _VERBS_OF.items() for verb in verbs.split()}


def choose_role(description: str) -> str:
    """Return the role for the first known verb among the first eight words of a description."""
    words = re.findall(r"[^\W\d_]+", " ".join(description.split()[:_MOST_WORDS]).lower())
    for word, following in zip(words, (*words[1:], ""), strict=False):
        if word == "sum":
            return "Summarizer" if following == "up" else "Calculator"
        if word in _ROLE_OF:
            return _ROLE_OF[word]
    return DEFAULT_ROLE


def create_default_agent(task: Task) -> Agent:
    """Return an agent for a task that has neither an agent nor a handler."""
    settings: AgentSettings = {"role": task.role or choose_role(task.description)}
    if task.goal is not None:
        settings["goal"] = task.goal
    if task.background is not None:
        settings["background"] = task.background
    return Agent(**settings)
