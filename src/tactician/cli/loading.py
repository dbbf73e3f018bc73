"""Loader of the agents in a user's Python file or blueprint."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, TypeGuard, TypeVar

from tactician.agents.composition import list_inner
from tactician.agents.planned.components import ComponentAgent, build_component_agent, is_component, is_component_class
from tactician.agents.planned.planned_agent import is_planned_class
from tactician.agents.planned.specs import as_runnable
from tactician.cli.blueprint_files import NO_ACCESS, BlueprintAccess, is_blueprint_file
from tactician.cli.shell_commands import find_commands
from tactician.errors import AgentNotFoundError, ConfigurationError, DeclarationError
from tactician.llm import LanguageModel
from tactician.platform import Platform
from tactician.platform.registry import GOALS
from tactician.runs import Runnable
from tactician.suggestions import did_you_mean
from tactician.text import describe_error
from tactician.tools import ToolGroup
from tactician.tools.group_registry import ToolGroups

T = TypeVar("T")


class Loaded(dict[str, Runnable]):
    """Agents in a file, by name: those that are no part of another agent there.

    Attributes:
        members: the agents that are part of another one, by name. They run only when somebody names them.
        components: the instances of `@component` classes, whose actions serve all planned agents.
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
        self.members: dict[str, Runnable] = {}
        self.components: tuple[object, ...] = ()
        self.tool_groups = tool_groups
        self.script = script
        self.commands = commands

    @classmethod
    def merge(cls, files: Iterable[Loaded]) -> Loaded:
        """Return the agents of several files together; of two agents with the same name, the first."""
        merged = cls()
        for loaded in files:
            merged.update({name: agent for name, agent in loaded.items() if name not in merged})
            merged.members.update({name: agent for name, agent in loaded.members.items() if name not in merged.members})
            merged.components += loaded.components
            merged.tool_groups += loaded.tool_groups
            merged.script = merged.script or loaded.script
            merged.commands += loaded.commands
        return merged

    @property
    def everything(self) -> Mapping[str, Runnable]:
        """All agents, also those that are part of another one."""
        return {**self.members, **self}

    def run_script(self, path: Path) -> LanguageModel:
        """Return the model that the script of the file makes.

        Raises:
            ConfigurationError: when there is no script, or it raises.
        """
        if self.script is None:
            raise ConfigurationError(f"{path} has no script: define a function `script` that returns a ScriptedModel.")
        try:
            return self.script()
        except Exception as error:
            raise _create_error(error, path) from error

    @property
    def component_agents(self) -> Mapping[str, Runnable]:
        """Each component as an agent of its own, by name."""
        return {agent.name: agent for agent in map(build_component_agent, self.components)}

    def register(self, platform: Platform, chosen: Iterable[Runnable] = ()) -> Platform:
        """Register all that is in the file, and return the platform.

        Runs of members can be continued, but members are not offered beside the agents that they are part of.

        Args:
            platform: the platform.
            chosen: members that somebody has named, which are offered too.
        """
        offered = {**self, **{agent.name: agent for agent in chosen}}
        for name, member in self.members.items():
            if name not in offered:
                platform.register_internal(member)
        return platform.register(*offered.values(), *self.components, *self.tool_groups)


def load_agents(path: Path, access: BlueprintAccess = NO_ACCESS) -> Loaded:
    """Load the agents that a file declares, by name, and its tool groups.

    A blueprint is a single agent. In a Python file, agents are the module-level Runnables and instances of planned
    agents. Tool groups also count when they are registered on a platform there. A `@planned_agent` or `@component`
    class without an instance counts too, when it can be created without arguments. An agent that is part of another
    one, such as the route of a router, is a member, unless a platform in the file registers it.

    Args:
        path: the file: Python, or a blueprint in JSON or YAML.
        access: what a blueprint may use.

    Raises:
        BlueprintError: with every mistake in a blueprint.
        ConfigurationError: when the file does not exist or cannot be run.
        DeclarationError: when an agent is not declared correctly.
        AgentNotFoundError: when the agent does not exist.
    """
    if is_blueprint_file(path):
        return _load_blueprint(path, access)
    return find_agents(load_module(path), path)


def find_agents(module: ModuleType, path: Path) -> Loaded:
    """Return the agents of a module, as `load_agents` does.

    Raises:
        ConfigurationError: when an agent cannot be created.
        DeclarationError: when an agent is not declared correctly.
        AgentNotFoundError: when the agent does not exist.
    """
    registered, values = _find_registered(module), [*vars(module).values()]
    kinds = {type(value) for value in values}
    values += [_create(kind, path) for kind in values if _is_own_class(kind, module) and kind not in kinds]
    agents = Loaded(_find_tool_groups(module), _find_script(module), tuple(find_commands(vars(module).values())))
    for agent in (*registered, *map(as_runnable, values)):
        if agent is not None and not isinstance(agent, ComponentAgent):
            agents.setdefault(agent.name, agent)
    members = find_members(agents) - {agent.name for agent in registered}
    agents.members = {name: agents.pop(name) for name in list(agents) if name in members}
    within = [agent.instance for agent in registered if isinstance(agent, ComponentAgent)]
    agents.components = tuple({type(value): value for value in (*values, *within) if is_component(value)}.values())
    if not agents and not agents.components:
        raise AgentNotFoundError(
            f'{path}: it defines no agent. Add an agent at module level, as in `agent = Agent("Helper", ...)`, '
            "or an instance of a @planned_agent or @component class."
        )
    return agents


def choose_agent(agents: Mapping[str, T], name: str | None, path: Path) -> T:
    """Return the agent with a name; without a name, the only agent.

    Raises:
        AgentNotFoundError: when the name is unknown, or missing though required.
    """
    if name is None:
        if len(agents) == 1:
            return next(iter(agents.values()))
        raise AgentNotFoundError(f"{path} has several agents: {', '.join(agents)}. Choose with --agent NAME.")
    if name not in agents:
        hint = did_you_mean(name, agents)
        raise AgentNotFoundError(f"{path} has no agent {name!r}.{hint} It has: {', '.join(agents) or 'none'}.")
    return agents[name]


def find_members(agents: Mapping[str, Runnable]) -> set[str]:
    """Return the names of the agents that are part of another one, which is not part of them in turn.

    A task runs a copy of its agent, so that a part is known by its name and its description.
    """
    names = {(agent.name, agent.description): name for name, agent in agents.items()}
    inner = {
        name: {names.get((part.name, part.description)) for part in list_inner(agent)} for name, agent in agents.items()
    }
    return {part for name, parts in inner.items() for part in parts if part is not None and name not in inner[part]}


def _load_blueprint(path: Path, access: BlueprintAccess) -> Loaded:
    agents, built = Loaded(), access.build(path)
    agents[built.name] = built
    return agents


def _find_registered(module: ModuleType) -> list[Runnable]:
    """Return the agents that the platforms of a module register."""
    platforms = [value for value in vars(module).values() if isinstance(value, Platform)]
    return [agent for platform in platforms for agent in platform.agents.values()]


def _find_tool_groups(module: ModuleType) -> tuple[ToolGroup, ...]:
    collected: dict[int, ToolGroup] = {}
    for value in vars(module).values():
        tool_groups = value.tool_groups if isinstance(value, Platform) else value
        groups = tool_groups.registered if isinstance(tool_groups, ToolGroups) else (tool_groups,)
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
        raise _create_error(error, path, f"{kind.__name__}(): ") from error


def _is_own_class(value: object, module: ModuleType) -> TypeGuard[type]:
    if not isinstance(value, type) or value.__module__ != module.__name__ or not _is_declared(value):
        return False
    return all(p.default is not Parameter.empty or p.kind in _VARIABLE for p in signature(value).parameters.values())


def _is_declared(kind: type) -> bool:
    return is_planned_class(kind) or is_component_class(kind)


_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_MISSING_NAME: Final = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
"""Message of the error for a name that a module lacks. Before Python 3.12, the error has the name nowhere else."""


def load_module(path: Path) -> ModuleType:
    """Run a Python file, and return it as a module.

    Raises:
        ConfigurationError: when the file does not exist or cannot be run.
        DeclarationError: when an agent is not declared correctly.
    """
    if not path.is_file():
        what = "it is a folder: name a Python file or a blueprint" if path.is_dir() else "there is no such file"
        raise ConfigurationError(f"{path}: {what}")
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
        raise _create_error(error, path) from error
    return module


def _create_error(error: BaseException, path: Path, call: str = "") -> ConfigurationError:
    """Return the error for code of the user that raises, with its line and what Python may know about the cause."""
    return ConfigurationError(f"{path}{_find_line(error, path)}: {call}{describe_error(error)}{_advise(error)}")


def _advise(error: BaseException) -> str:
    """Return advice to append to an error message, which begins with a full stop; empty where none helps."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Coroutine):
        return ". Its call needs `await`; outside of async functions, use the method with `_sync`."
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        return _suggest(error.name, error.obj)
    missing = _MISSING_NAME.match(str(error)) if isinstance(error, ImportError) else None
    module = sys.modules.get(missing["module"]) if missing else None
    return _suggest(missing["name"], module) if missing and module else ""


def _suggest(name: str, holder: object) -> str:
    suggestion = did_you_mean(name, dir(holder))
    return f".{suggestion}" if suggestion else ""


def _find_line(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno and Path(error.filename or "").resolve() == path.resolve():
        return f", line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.resolve()]
    lines = lines or [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == path.name]
    return f", line {lines[-1]}" if lines else ""
