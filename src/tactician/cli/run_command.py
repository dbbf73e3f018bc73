"""`tactician run`."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tactician.agents.planned.specs import planned_spec
from tactician.cli.asker import Asker
from tactician.cli.blueprint_files import NO_ACCESS, Allow, BlueprintAccess, Modules, Root
from tactician.cli.choosing import EMBEDDED, choose_by_request, find_default_model, find_only_agent
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
from tactician.cli.experience import ObjectiveName
from tactician.cli.interruption import say_how_to_resume
from tactician.cli.loading import Loaded, choose_agent, load_agents
from tactician.cli.outcomes import Outcome, answer_requests, print_outcome, start_run
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.stores import find_store, format_store_option
from tactician.errors import ConfigurationError
from tactician.llm import EmbeddedModel, LanguageModel, ModelCatalog
from tactician.llm.endpoint_resolver import MODEL_VARIABLE
from tactician.planning import Objective
from tactician.platform import Platform
from tactician.platform.autonomy import Mode
from tactician.process import PlanReview, ProcessOptions
from tactician.runs import Runnable
from tactician.stores import DocumentStore, open_store

NOT_INSTALLED = (
    "No model is set up for {file}: set a key such as OPENAI_API_KEY, name a model with --model, "
    "or add --scripted to see what a model would do."
)
TOO_SMALL = (
    "The embedded model is too small for {file}: what it writes will make little sense. "
    "Add --scripted to see what a larger model does, or set a key such as OPENAI_API_KEY."
)


class PlanningOptions(NamedTuple):
    """Objective of the plans of a run, and the terms of their review."""

    objective: Objective | None = None
    plan_review: PlanReview | None = None

    @property
    def for_process(self) -> ProcessOptions | None:
        """The options of a process, which are stored with it; `None` when nothing is chosen."""
        objective, plan_review = self
        return None if self == NO_OPTIONS else ProcessOptions(objective=objective, plan_review=plan_review)


NO_OPTIONS = PlanningOptions()


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
    review: Annotated[bool, typer.Option("--review", help="Ask a person about each plan first.")] = False,
    review_above: Annotated[
        float | None, typer.Option("--review-above", metavar="DOLLARS", help="Ask only about plans that take more.")
    ] = None,
    objective: ObjectiveName = None,
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
    named = None if agent is None else choose_agent(agents.everything, agent, file)
    opened = find_store(store)
    view = ProgressView(err, prompts, responses, None, find_personality(voice), shows_ids=opened is not None)
    arguments = None if opened is None else format_arguments(file, store, access)
    models = choose_models(agents, file, model, scripted)
    words = input or []
    terms = PlanReview(above_dollars=review_above) if review or review_above is not None else None
    options = PlanningOptions(None if objective is None else Objective.of(objective), terms)

    async def find_agent(platform: Platform) -> Runnable:
        """Find the agent that runs, and let its plans be drawn."""
        chosen = named or (None if is_open else find_only_agent(platform))
        if chosen is None:
            mode: Mode = "open" if is_open else "closed"
            chosen = await choose_by_request(platform, _join_words(words, file.name), f"{file} has", mode)
        view.spec = planned_spec(chosen) if plan else None
        return chosen

    async def work() -> Outcome:
        async with AsyncExitStack() as stack:
            documents = None if opened is None else await stack.enter_async_context(open_store(opened))
            platform = create_platform(
                agents, view, documents, models, () if named is None else (named,), None, options
            )
            chosen = await find_agent(platform)
            await stack.enter_async_context(say_how_to_resume(documents, chosen.name, arguments or ""))
            with view.watch():
                outcome = await start_run(platform, chosen, read_input(chosen, words), options.for_process)
            return await answer_requests(platform, outcome, create_asker(no_input), view.watch)

    print_outcome(asyncio.run(work()), arguments)


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
        raise ConfigurationError(f"{subject} needs an input: add a request to the command.")
    return " ".join(words)


def create_platform(
    agents: Loaded,
    view: ProgressView,
    store: DocumentStore | None,
    models: ModelCatalog | LanguageModel,
    chosen: Iterable[Runnable] = (),
    retention: timedelta | None = None,
    options: PlanningOptions = NO_OPTIONS,
) -> Platform:
    """Return a platform with all that is in a file; members are offered that are chosen."""
    objective, plan_review = options
    platform = Platform(
        models=models,
        on_event=view,
        store=store,
        retention=retention,
        objective=objective,
        plan_review=plan_review,
    )
    return agents.register(platform, chosen)


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
        return agents.run_script(file)
    catalog = open_catalog(model)
    if agents.script is not None and find_default_model(catalog) in (None, EMBEDDED):
        say((TOO_SMALL if EmbeddedModel.is_installed() else NOT_INSTALLED).format(file=file))
    return catalog


def create_asker(no_input: bool) -> Asker | None:
    """Return an asker, if there is a terminal and input is allowed."""
    return None if no_input or not is_terminal_input() else Asker(err)


def format_arguments(file: Path, store: str | None, access: BlueprintAccess = NO_ACCESS) -> str:
    """Return the arguments that name the file and the store, and give a blueprint the same access."""
    return f"{shlex.quote(str(file))}{format_store_option(store)}{access.format_options()}"
