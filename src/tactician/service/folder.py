"""Agents in a folder: one JSON file for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tactician.agents import Agent
from tactician.documents import Problems, load_document
from tactician.errors import AgentFileError, DocumentError, Problem
from tactician.service.building import build
from tactician.service.names import AgentFileNames


def load_agents(folder: Path, names: AgentFileNames, taken: Mapping[str, object]) -> dict[str, Agent[object]]:
    """The agents that the `*.json` files of a folder describe, by their ids.

    Args:
        taken: the ids that agents have already.

    Raises:
        AgentFileError: with every mistake in all files, or when there is no such folder.
    """
    subject, problems = f"The agents in {folder} are not described correctly", Problems()
    if not folder.is_dir():
        raise AgentFileError(subject, [Problem("", "there is no such folder")])
    agents: dict[str, Agent[object]] = {}
    files: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            document = load_document(file)
            agent = build(document, names)
        except DocumentError as error:
            problems.include(error, file.name)
            continue
        if agent.id in taken or agent.id in agents:
            owner = files.get(agent.id, "an agent that was registered")
            message = f"{agent.id!r} is taken by {owner}; every agent needs its own"
            problems.add(message, "id", document=document, file=file.name)
        agents[agent.id], files[agent.id] = agent, file.name
    problems.check(subject, AgentFileError)
    return agents
