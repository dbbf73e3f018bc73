"""What is registered on a platform, by name, and what can be put together of it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from tactician.agents import PlannedAgent, component_agent, is_component, is_planned
from tactician.errors import AgentNotFoundError, DeclarationError
from tactician.platform.assembling import assembled, assembled_names
from tactician.platform.leading import is_led, led_again, led_names
from tactician.runs import Runnable, RunRecord


class Registry:
    """The agents of a platform."""

    def __init__(self) -> None:
        self._agents: dict[str, Runnable] = {}
        self._process_names: tuple[str, ...] | None = None

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """What is registered, by name."""
        return self._agents

    def register(self, agents: tuple[object, ...]) -> None:
        """Registers all, or none.

        Raises:
            DeclarationError: when one is not declared correctly, or a name is taken; with every mistake of all of them.
        """
        fresh: dict[str, Runnable] = {}
        errors: list[DeclarationError] = []
        for agent in agents:
            try:
                registered = _as_runnable(agent)
                if registered.name in self._agents or registered.name in fresh:
                    raise DeclarationError(registered.name, ["another agent has this name; give one of them another"])
                fresh[registered.name] = registered
            except DeclarationError as error:
                errors.append(error)
        if errors:
            raise _as_one(errors)
        self._agents.update(fresh)
        self._process_names = None

    def found(self, name: str) -> Runnable:
        """The agent of that name, registered or assembled of those that are.

        Raises:
            AgentNotFoundError: when there is none.
        """
        if (found := self._agents.get(name) or assembled(name, self._agents)) is not None:
            return found
        close = get_close_matches(name, self._agents, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(self._agents) or "none"
        raise AgentNotFoundError(f"No agent is registered as {name!r}.{hint} Registered: {known}.")

    def planned(self, agent: object) -> PlannedAgent:
        """A planned agent, given itself or by its name.

        Raises:
            AgentNotFoundError: when no planned agent has the name.
            DeclarationError: when it is not declared correctly.
        """
        given = self.found(agent) if isinstance(agent, str) else agent
        if not isinstance(found := _as_runnable(given), PlannedAgent):
            kind = type(found).__name__
            raise AgentNotFoundError(f"{found.name!r} ({kind}) is no planned agent: call its `run`.")
        return found

    def of_record(self, record: RunRecord) -> PlannedAgent:
        """The agent of a process that is kept.

        Raises:
            AgentNotFoundError: when it is not registered here, or what it is made of is not.
            StoredStateError: when what is kept cannot be read.
        """
        if record.name not in self._agents and is_led(record.name):
            return led_again(record, self._agents)
        return self.planned(record.name)

    def yielding(self, wanted: type) -> list[PlannedAgent]:
        """The registered agents with those of their goals that give an object of the type.

        Raises:
            AgentNotFoundError: when there is none.
        """
        planned = [agent for agent in self._agents.values() if isinstance(agent, PlannedAgent)]
        if yielding := [aimed for agent in planned if (aimed := agent.towards(wanted)) is not None]:
            return yielding
        kinds = {kind.__name__ for agent in planned for goal in agent.spec.goals for kind in goal.output_types}
        known = ", ".join(sorted(kinds)) or "nothing"
        raise AgentNotFoundError(
            f"No registered agent yields a {wanted.__name__}. The registered goals yield: {known}."
        )

    @property
    def process_names(self) -> tuple[str, ...]:
        """The names of all agents whose processes can go on here: registered ones, and what can be made of them."""
        if self._process_names is None:
            planned = {name: agent for name, agent in self._agents.items() if isinstance(agent, PlannedAgent)}
            self._process_names = (*planned, *assembled_names(planned), *led_names(planned))
        return self._process_names


def _as_runnable(agent: object) -> Runnable:
    if isinstance(agent, type):
        raise DeclarationError(agent.__name__, [f"this is the class; make an instance: {agent.__name__}(...)"])
    if isinstance(agent, PlannedAgent):
        return agent
    if is_planned(agent):
        return PlannedAgent(agent)
    if is_component(agent):
        return component_agent(agent)
    if isinstance(agent, Runnable):
        return agent
    raise DeclarationError(
        type(agent).__name__, ["it is no Runnable; decorate the class with @planned_agent(description=...)"]
    )


def _as_one(errors: list[DeclarationError]) -> DeclarationError:
    if len(errors) == 1:
        return errors[0]
    problems = [f"{error.subject}: {problem}" for error in errors for problem in error.problems]
    return DeclarationError(", ".join(error.subject for error in errors), problems)
