"""`tactician fork`: a new run from a past step of another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated

import typer

from tactician.cli.answers import parse_answer_text
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, File, NoInput, PersonalityName, ProcessId, StoreUrl, say
from tactician.cli.outcomes import Outcome, answer_requests, print_outcome
from tactician.cli.run_command import create_asker, format_arguments
from tactician.cli.run_control import run_on_platform
from tactician.cli.stores import format_store_option
from tactician.errors import ConfigurationError
from tactician.platform import Platform, RunView
from tactician.platform.views.steps import StepView
from tactician.process import AgentProcess
from tactician.runs import RunError
from tactician.runs.outcomes.suspension import Response


def fork(
    id: ProcessId,
    file: File,
    at: Annotated[
        int | None,
        typer.Option("--at", min=0, help="The step after which it begins: see `show ID --steps`. 0 is the start."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model of all its calls.")] = None,
    input: Annotated[str | None, typer.Option("--input", help="Another input, for a fork from the start.")] = None,
    respond: Annotated[
        list[str] | None,
        typer.Option("--respond", metavar="REQUEST=VALUE", help="Another answer: JSON or text; yes or no to approve."),
    ] = None,
    store: StoreUrl = None,
    no_input: NoInput = False,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Start a new run from a past step of another, with another model, input or answer."""
    texts = dict(_split(text) for text in respond or ())

    async def work(platform: Platform, run: RunView) -> Outcome:
        responses = _parse_responses(texts, await platform.steps(id), at) if texts else {}
        try:
            outcome = await platform.fork(id, at=at, model=model, input=input, responses=responses)
        except RunError as error:
            _say_how_to_compare(id, error.result.run_id, store)
            raise
        _say_how_to_compare(id, outcome.id if isinstance(outcome, AgentProcess) else outcome.run_id, store)
        return await answer_requests(platform, outcome, create_asker(no_input))

    access = BlueprintAccess.of(allow, modules, root)
    outcome = asyncio.run(run_on_platform(id, file, store, None, voice, work, access, is_new=True))
    print_outcome(outcome, format_arguments(file, store, access))


def _split(text: str) -> tuple[str, str]:
    request_id, separator, value = text.partition("=")
    if not separator:
        raise ConfigurationError(f"--respond takes REQUEST=VALUE, and got: {text}")
    return request_id, value


def _parse_responses(texts: dict[str, str], steps: Iterable[StepView], at: int | None) -> dict[str, Response]:
    """Return the answers in texts. An answer to an unknown request stays text, which the platform refuses."""
    requests = {request.id: request for step in steps if at in (None, step.number) for request in step.pending}
    return {
        request_id: parse_answer_text(text, requests[request_id]) if request_id in requests else text
        for request_id, text in texts.items()
    }


def _say_how_to_compare(id: str, fork_id: str, store: str | None) -> None:
    command = f"tactician show {id} --compare {fork_id}{format_store_option(store)}"
    say(f"The fork is {fork_id}. Compare with: {command}")
