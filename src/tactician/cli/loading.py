"""Loader of the agents in a user's Python file or blueprint."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeGuard, TypeVar

from tactician.agents import as_runnable, is_planned_class
from tactician.cli.blueprint_files import NO_ACCESS, BlueprintAccess, is_blueprint_file
from tactician.cli.shell_commands import find_commands
from tactician.documents import did_you_mean
from tactician.errors import AgentNotFoundError, ConfigurationError, DeclarationError
from tactician.llm import LanguageModel
from tactician.platform import GOALS, Platform
from tactician.runs import Runnable
from tactician.tools import ToolGroup, ToolGroups

T = TypeVar("T")


class Loaded(dict[str, Runnable]):
    """Agents in a file, by name.

    Attributes:
        tool_groups: the tool groups there, which agents may name.
        script: the function `script` there, which makes a model that follows a script.
        commands: the functions there that are commands of the shell.
    """

    def __init__(
        self,
        tool_groups: tuple[ToolGroup, ...] = (),
        script: Callable[[], LanguageModel] | None = None,
        commands: tuple[Callable[..., object], ...] = (),
    ) -> None:
        super().__init__()
        self.tool_groups = tool_groups
        self.script = script
        self.commands = commands

    @classmethod
    def merge(cls, files: Iterable[Loaded]) -> Loaded:
        """Return the agents of several files together; of two agents with the same name, the first."""
        merged = cls()
        for loaded in files:
            merged.update({name: agent for name, agent in loaded.items() if name not in merged})
            merged.tool_groups += loaded.tool_groups
            merged.script = merged.script or loaded.script
            merged.commands += loaded.commands
        return merged


def load_agents(path: Path, access: BlueprintAccess = NO_ACCESS) -> Loaded:
    """Load the agents that a file declares, by name, and its tool groups.

    A blueprint is a single agent. In a Python file, agents are the module-level Runnables and instances of planned
    agents. Tool groups also count when they are registered on a platform there. A `@planned_agent` class without an
    instance counts too, when it can be created without arguments.

    Args:
        path: the file: Python, or a blueprint in JSON or YAML.
        access: what a blueprint may use.

    Raises:
        BlueprintError: with every mistake in a blueprint.
        ConfigurationError: when the file does not exist or cannot be run.
        DeclarationError: when an agent is not declared correctly.
        AgentNotFoundError: when there is none.
    """
    if is_blueprint_file(path):
        return _load_blueprint(path, access)
    return find_agents(load_module(path), path)


def find_agents(module: ModuleType, path: Path) -> Loaded:
    """Return the agents of a module, as `load_agents` does.

    Raises:
        ConfigurationError: when an agent cannot be created.
        DeclarationError: when an agent is not declared correctly.
        AgentNotFoundError: when there is none.
    """
    values = list(_find_candidates(module))
    kinds = {type(value) for value in values}
    own = [value for value in vars(module).values() if _is_own_class(value, module) and value not in kinds]
    values += [_create(kind, path) for kind in own]
    agents = Loaded(_find_tool_groups(module), _find_script(module), tuple(find_commands(vars(module).values())))
    for value in values:
        if (agent := as_runnable(value)) is not None:
            agents.setdefault(agent.name, agent)
    if not agents:
        raise AgentNotFoundError(
            f'{path}: it defines no agent. Add an agent at module level, as in `agent = Agent("Helper", ...)`, '
            "or an instance of a @planned_agent class."
        )
    return agents


def choose_agent(agents: Mapping[str, T], name: str | None, path: Path) -> T:
    """Return the agent with a name; without a name, the only agent.

    Raises:
        AgentNotFoundError: when the name is unknown, or missing though required.
    """
    known = ", ".join(agents)
    if name is None:
        if len(agents) == 1:
            return next(iter(agents.values()))
        raise AgentNotFoundError(f"{path} has several agents: {known}. Choose with --agent NAME.")
    if name not in agents:
        hint = did_you_mean(name, agents)
        raise AgentNotFoundError(f"{path} has no agent {name!r}.{hint} It has: {known}.")
    return agents[name]


def _load_blueprint(path: Path, access: BlueprintAccess) -> Loaded:
    agents, built = Loaded(), access.build(path)
    agents[built.name] = built
    return agents


def _find_candidates(module: ModuleType) -> Iterable[object]:
    for value in vars(module).values():
        if isinstance(value, Platform):
            yield from value.agents.values()
        elif as_runnable(value) is not None:
            yield value


def _find_tool_groups(module: ModuleType) -> tuple[ToolGroup, ...]:
    collected: dict[int, ToolGroup] = {}
    for value in vars(module).values():
        known = value.tool_groups if isinstance(value, Platform) else value
        groups = known.registered if isinstance(known, ToolGroups) else (known,)
        collected.update((id(group), group) for group in groups if isinstance(group, ToolGroup) and group.name != GOALS)
    return tuple(collected.values())


def _find_script(module: ModuleType) -> Callable[[], LanguageModel] | None:
    script = vars(module).get("script")
    return script if isinstance(script, FunctionType) and not signature(script).parameters else None


def _create(kind: type, path: Path) -> object:
    """Create the agent of a class.

    Raises:
        ConfigurationError: when its code raises.
        DeclarationError: when it is not declared correctly.
    """
    try:
        return kind()
    except DeclarationError:
        raise
    except Exception as error:
        problem = f"{kind.__name__}(): {type(error).__name__}: {error}"
        raise ConfigurationError(f"{path}{_find_line(error, path)}: {problem}") from error


def _is_own_class(value: object, module: ModuleType) -> TypeGuard[type]:
    if not isinstance(value, type) or value.__module__ != module.__name__ or not is_planned_class(value):
        return False
    return all(p.default is not Parameter.empty or p.kind in _VARIABLE for p in signature(value).parameters.values())


_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def load_module(path: Path) -> ModuleType:
    """Run a Python file, and return it as a module.

    Raises:
        ConfigurationError: when the file does not exist or cannot be run.
        DeclarationError: when an agent is not declared correctly.
    """
    if not path.is_file():
        raise ConfigurationError(f"{path}: there is no such file")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path} is neither a Python file nor a blueprint in .json, .yaml or .yml")
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except DeclarationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{path}{_find_line(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _find_line(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno and Path(error.filename or "").resolve() == path.resolve():
        return f", line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.resolve()]
    lines = lines or [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == path.name]
    return f", line {lines[-1]}" if lines else ""
