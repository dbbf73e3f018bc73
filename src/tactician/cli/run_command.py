"""`tactician run`."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from tactician.agents import planned_spec
from tactician.cli.asker import Asker
from tactician.cli.blueprint_files import NO_ACCESS, Allow, BlueprintAccess, Modules, Root
from tactician.cli.choosing import EMBEDDED, choose_by_request
from tactician.cli.console import (
    AgentName,
    Debug,
    File,
    ModelName,
    NoInput,
    PersonalityName,
    Prompts,
    Responses,
    Scripted,
    StoreUrl,
    err,
    is_terminal_input,
    say,
)
from tactician.cli.interruption import say_how_to_resume
from tactician.cli.loading import Loaded, choose_agent, load_agents
from tactician.cli.outcomes import Outcome, answer_requests, print_outcome, start_run
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.stores import find_store, format_store_option
from tactician.errors import ConfigurationError
from tactician.llm import MODEL_VARIABLE, LanguageModel, ModelCatalog
from tactician.platform import Mode, Platform
from tactician.runs import Runnable
from tactician.stores import DocumentStore, open_store
from tactician.tools import ToolGroup

TOO_SMALL = (
    "The embedded model is too small for {file}: what it writes will make little sense. "
    "Add --scripted to see what a larger model does, or set a key such as OPENAI_API_KEY."
)


def run(
    file: File,
    input: Annotated[
        list[str] | None,
        typer.Argument(
            help="What the agent is asked to do; for an ensemble also the values of its templates: topic=AI. "
            "An ensemble without templates needs none."
        ),
    ] = None,
    agent: AgentName = None,
    is_open: Annotated[
        bool, typer.Option("--open", help="Let a model choose a goal, and use the actions of all agents.")
    ] = False,
    model: ModelName = None,
    store: StoreUrl = None,
    no_input: NoInput = False,
    prompts: Prompts = False,
    responses: Responses = False,
    plan: Annotated[bool, typer.Option("--plan", help="Draw each plan in full.")] = False,
    scripted: Scripted = False,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Run an agent: progress goes to stderr, the result to stdout. Exit code 3 when the run waits.

    Of several agents, a model chooses the one that fits the request best, unless --agent names one.
    """
    access = BlueprintAccess.of(allow, modules, root)
    agents = load_agents(file, access)
    named = choose_agent(agents, agent, file) if agent or (len(agents) == 1 and not is_open) else None
    opened = find_store(store)
    view = ProgressView(err, prompts, responses, None, find_personality(voice), shows_ids=opened is not None)
    arguments = None if opened is None else format_arguments(file, store, access)
    models = choose_models(agents, file, model, scripted)
    words = input or []

    async def find_agent(platform: Platform) -> Runnable:
        """Find the agent that runs, and let its plans be drawn."""
        mode: Mode = "open" if is_open else "closed"
        chosen = named or await choose_by_request(platform, _join_words(words, file.name), f"{file} has", mode)
        view.spec = planned_spec(chosen) if plan else None
        return chosen

    outcome = asyncio.run(_run(view, agents, find_agent, words, opened, create_asker(no_input), models, arguments))
    print_outcome(outcome, arguments)


def read_input(agent: Runnable, words: Sequence[str]) -> str | Mapping[str, str]:
    """Return the input that the words of a command mean: values by name for the templates of an ensemble, else text.

    Raises:
        ConfigurationError: when there are no words, and the agent is no ensemble.
    """
    named = [word.partition("=") for word in words]
    names: Sequence[str] | None = getattr(agent, "value_names", None)
    has_values = bool(names) or (names is not None and not words)
    if has_values and all(sign and name.isidentifier() for name, sign, _ in named):
        return {name: value for name, _, value in named}
    return _join_words(words, agent.name)


def _join_words(words: Sequence[str], subject: str) -> str:
    if not words:
        raise ConfigurationError(f"{subject} needs an input: add what it is asked to do to the command.")
    return " ".join(words)


def create_platform(
    agents: Mapping[str, Runnable],
    view: ProgressView,
    store: DocumentStore | None,
    models: ModelCatalog | LanguageModel,
    tool_groups: Iterable[ToolGroup] = (),
    retention: timedelta | None = None,
) -> Platform:
    """Return a platform with the agents and tool groups of a file."""
    platform = Platform(models=models, on_event=view, store=store, retention=retention)
    return platform.register(*agents.values(), *tool_groups)


def open_catalog(model: str | None = None) -> ModelCatalog:
    """Return the models of this machine, with another default model if requested."""
    return ModelCatalog(environment={**os.environ, MODEL_VARIABLE: model} if model else os.environ)


def choose_models(agents: Loaded, file: Path, model: str | None, scripted: bool) -> ModelCatalog | LanguageModel:
    """Return the models of this machine, or the script of the file.

    A file has a script where the embedded model is too small for its agents; when that model would answer, say so.

    Raises:
        ConfigurationError: when there is no script.
    """
    if scripted:
        if agents.script is None:
            raise ConfigurationError(f"{file} has no script: define a function `script` that returns a ScriptedModel.")
        return agents.script()
    catalog = open_catalog(model)
    if agents.script is not None and catalog.default[0] == EMBEDDED:
        say(TOO_SMALL.format(file=file))
    return catalog


def create_asker(no_input: bool) -> Asker | None:
    """Return an asker, if there is a terminal and input is allowed."""
    return None if no_input or not is_terminal_input() else Asker(err)


def format_arguments(file: Path, store: str | None, access: BlueprintAccess = NO_ACCESS) -> str:
    """Return the arguments that name the file and the store, and give a blueprint the same access."""
    return f"{shlex.quote(str(file))}{format_store_option(store)}{access.format_options()}"


async def _run(
    view: ProgressView,
    agents: Loaded,
    find_agent: Callable[[Platform], Awaitable[Runnable]],
    words: Sequence[str],
    store: str | None,
    asker: Asker | None,
    models: ModelCatalog | LanguageModel,
    arguments: str | None,
) -> Outcome:
    async with AsyncExitStack() as stack:
        opened = None if store is None else await stack.enter_async_context(open_store(store))
        platform = create_platform(agents, view, opened, models, agents.tool_groups)
        chosen = await find_agent(platform)
        await stack.enter_async_context(say_how_to_resume(opened, chosen.name, arguments or ""))
        with view.watch():
            outcome = await start_run(platform, chosen, read_input(chosen, words))
        return await answer_requests(platform, outcome, asker, view.watch)
