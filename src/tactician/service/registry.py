"""The agents of a service: those that code registers, those in a folder, and the models themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tactician.agents import Agent, as_runnable
from tactician.documents import did_you_mean
from tactician.errors import AgentNotFoundError, ConfigurationError, DeclarationError, UnknownModelError
from tactician.llm import LlmOptions, ModelCatalog, ModelRouter, ModelSource, OneModel
from tactician.runs import Runnable
from tactician.service.folder import load_agents
from tactician.service.names import AgentFileNames
from tactician.tools import snake_case

_SUFFIXES = {"-websearch": "web_search", "-codeinterpreter": "code_interpreter"}


class ServiceRegistry:
    """Agents by id.

    Args:
        models: what serves the models that have no agent.
        folder: where the JSON files of agents are.
        names: what these files may name.

    Raises:
        AgentFileError: with every mistake in all files.
    """

    def __init__(self, models: ModelSource, folder: Path | None, names: AgentFileNames) -> None:
        self._models = models
        self._folder = folder
        self._names = names
        self._agents: dict[str, Runnable] = {}
        self._from_files: dict[str, Agent[object]] = {}
        self.agents: Mapping[str, Runnable] = MappingProxyType(self._agents)
        if folder is not None:
            self.reload()

    def register(self, agents: Sequence[object], *, replace: bool) -> None:
        """Registers agents: all of them, or none.

        Raises:
            DeclarationError: with every mistake of all of them.
        """
        fresh: dict[str, Runnable] = {}
        problems: list[str] = []
        for agent in agents:
            runnable = as_runnable(agent)
            if runnable is None:
                problems.append(f"{agent!r} is no Runnable; make one of it, as with `runnable` or @planned_agent")
            elif (key := _id_of(runnable)) in fresh or (key in self._agents and not replace):
                problems.append(f"the id {key!r} is taken; choose another, or register with replace=True")
            else:
                fresh[key] = runnable
        if problems:
            raise DeclarationError("AgentService", problems)
        self._agents.update(fresh)
        for key in fresh:
            self._from_files.pop(key, None)

    def unregister(self, agent_id: str) -> None:
        """Forgets an agent.

        Raises:
            AgentNotFoundError: when there is none.
        """
        if agent_id not in self._agents:
            raise self._not_found(agent_id)
        del self._agents[agent_id]
        self._from_files.pop(agent_id, None)

    def reload(self) -> tuple[str, ...]:
        """Reads the folder again: what is new is registered, what is gone is forgotten. On a mistake nothing changes.

        Returns:
            The ids of the folder's agents.

        Raises:
            AgentFileError: with every mistake in all files.
            ConfigurationError: when there is no folder.
        """
        if self._folder is None:
            raise ConfigurationError("This service has no folder of agents; make it with AgentService(folder=...)")
        others = {key: agent for key, agent in self._agents.items() if key not in self._from_files}
        loaded = load_agents(self._folder, self._names, others)
        for key in self._from_files.keys() - loaded.keys():
            del self._agents[key]
        self._from_files = loaded
        self._agents.update(loaded)
        return tuple(loaded)

    def find(self, agent_id: str) -> Runnable:
        """The agent of that id, else the model of that name; it has tools of its provider with `-websearch` or
        `-codeinterpreter` behind its name.

        Raises:
            AgentNotFoundError: when there is neither.
            ConfigurationError: when the key for the model is not set.
        """
        if (found := self._agents.get(agent_id)) is not None:
            return found
        if not self._lists(agent_id):
            for suffix, tool in _SUFFIXES.items():
                if agent_id.endswith(suffix) and self._serves(name := agent_id.removesuffix(suffix)):
                    return Agent(agent_id, id=agent_id, model=LlmOptions(model=name, native_tools=(tool,)))
            if not self._serves(agent_id):
                raise self._not_found(agent_id)
        return Agent(agent_id, id=agent_id, model=agent_id)

    def agent(self, agent_id: str) -> Agent[object]:
        """The registered `Agent` of that id.

        Raises:
            AgentNotFoundError: when there is none, or it is a Runnable of another kind.
        """
        found = self._agents.get(agent_id)
        if found is None:
            raise self._not_found(agent_id)
        if not isinstance(found, Agent):
            raise AgentNotFoundError(
                f"{agent_id!r} is a {type(found).__name__} and no Agent: it has no tools of its own"
            )
        return found

    def _lists(self, model: str) -> bool:
        """Whether it is exactly a model that is served, whatever its name looks like."""
        models = self._models
        if isinstance(models, ModelRouter):
            return models.serves(model)
        if isinstance(models, ModelCatalog):
            return any(model in (entry.name, entry.full_name) for entry in models.entries())
        return isinstance(models, OneModel) and models.model.name == model

    def _serves(self, model: str) -> bool:
        if isinstance(self._models, ModelRouter | OneModel):
            return self._lists(model)
        try:
            self._models.resolve(LlmOptions(model=model))
        except UnknownModelError:
            return False
        return True

    def _not_found(self, agent_id: str) -> AgentNotFoundError:
        hint = did_you_mean(agent_id, self._agents)
        known = ", ".join(self._agents) or "none"
        return AgentNotFoundError(f"No agent is registered as {agent_id!r}.{hint} Registered: {known}.")


def _id_of(agent: Runnable) -> str:
    own = getattr(agent, "id", None)
    return own if isinstance(own, str) and own else snake_case(agent.name)
