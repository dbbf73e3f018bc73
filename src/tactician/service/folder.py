"""Agents in a folder: one JSON file for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tactician.agents import Agent
from tactician.errors import AgentFileError
from tactician.files import beginning_of
from tactician.service.building import build
from tactician.service.entries import EntryProblems, read_entry
from tactician.service.names import AgentFileNames

_LONGEST = 4 * 2**20


def load_agents(folder: Path, names: AgentFileNames, taken: Mapping[str, object]) -> dict[str, Agent[object]]:
    """The agents that the `*.json` files of a folder describe, by their ids.

    Args:
        taken: the ids that agents have already.

    Raises:
        AgentFileError: with every mistake in all files, or when there is no such folder.
    """
    if not folder.is_dir():
        raise AgentFileError(str(folder), ["there is no such folder"])
    agents: dict[str, Agent[object]] = {}
    problems: list[str] = []
    files: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            agent = _load(file, names)
        except EntryProblems as found:
            problems += [f"{file.name}: {problem}" for problem in found.problems]
            continue
        if agent.id in taken or agent.id in agents:
            owner = files.get(agent.id, "an agent that was registered")
            problems.append(f"{file.name}: id: {agent.id!r} is taken by {owner}; every agent needs its own")
        agents[agent.id], files[agent.id] = agent, file.name
    if problems:
        raise AgentFileError(str(folder), problems)
    return agents


def _load(file: Path, names: AgentFileNames) -> Agent[object]:
    try:
        text = beginning_of(file, _LONGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise EntryProblems([f"it cannot be read: {getattr(error, 'strerror', None) or error}"]) from error
    if len(text) > _LONGEST:
        raise EntryProblems([f"it is larger than {_LONGEST // 2**20} MiB"])
    return build(read_entry(text), names)
