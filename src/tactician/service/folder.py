"""Agents in a folder of JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tactician.agents import Agent
from tactician.documents.document import load_document
from tactician.documents.problems import Problems
from tactician.errors import AgentFileError, DocumentError, Problem
from tactician.platform import Platform
from tactician.service.building import build
from tactician.service.names import AgentFileNames


def load_agents(folder: Path, names: AgentFileNames, taken: Mapping[str, object]) -> dict[str, Agent[object]]:
    """Load the agents that the `*.json` files of a folder describe, by their ids.

    Args:
        folder: folder of the files.
        names: classes and functions that the files may name.
        taken: agents whose ids are in use already.

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


class AgentFolder:
    """The agents of a folder, as they are registered on a platform.

    Args:
        path: where the JSON files of agents are.
        names: what these files may name.
        platform: where the agents are registered.

    Raises:
        AgentFileError: with every mistake in all files.
    """

    def __init__(self, path: Path, names: AgentFileNames, platform: Platform) -> None:
        self._path = path
        self._names = names
        self._platform = platform
        self._loaded: dict[str, Agent[object]] = {}
        self.reload()

    def reload(self) -> tuple[str, ...]:
        """Read the folder again, and return the ids of its agents.

        What is new is registered, what is gone is forgotten. On a mistake nothing changes.

        Raises:
            AgentFileError: with every mistake in all files.
        """
        platform = self._platform
        own = {key for key, agent in self._loaded.items() if platform.agents_by_id.get(key) is agent}
        loaded = load_agents(
            self._path, self._names, {key: agent for key, agent in platform.agents_by_id.items() if key not in own}
        )
        for key in own:
            platform.unregister(key)
        platform.register(*loaded.values())
        self._loaded = loaded
        return tuple(loaded)
