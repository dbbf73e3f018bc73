"""`tactician eval`: evaluations of agents, and comparisons of their reports, made for continuous integration."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tactician.cli.console import AgentName, Debug, ModelName, Scripted, StoreUrl, out, say
from tactician.cli.loading import Loaded, choose_agent, find_agents, load_agents, load_module
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store, open_or_create
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.platform import Platform
from tactician.runs import Budget

if TYPE_CHECKING:
    from pydantic_evals import Dataset

    from tactician.evals import EvalReport
    from tactician.evals.entries import TrialEntry

evaluations = typer.Typer(name="eval", help="Evaluations: is it good, is it better, does it keep its plan.")
Report = Annotated[Path, typer.Argument(help="A report in JSON, as `--output` writes it.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a web page, which needs no network.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all that is random.")]


@evaluations.command()
def run(
    file: Annotated[Path, typer.Argument(help="A data set in YAML or JSON, or a Python file with one in it.")],
    agents: Annotated[
        Path | None, typer.Option("--agents", metavar="FILE", help="Python file or blueprint with the agent.")
    ] = None,
    agent: AgentName = None,
    repeat: Annotated[int, typer.Option("--repeat", help="How often each case runs.")] = 1,
    max_parallel: Annotated[int, typer.Option("--max-parallel", help="How many cases run at once.")] = 8,
    budget: Annotated[float | None, typer.Option("--budget", help="US dollars of the whole evaluation.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds that a case may take.")] = None,
    cache: Annotated[Path | None, typer.Option("--cache", metavar="FOLDER", help="Keep answers of models.")] = None,
    baseline: Annotated[Path | None, typer.Option("--baseline", metavar="REPORT", help="Compare with it.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="REPORT", help="Write the report.")] = None,
    html: Html = None,
    plans: Annotated[bool, typer.Option("--plans", help="Only choose plans: no model is called.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of all that is random, also of models.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Id, with which it goes on in the store.")] = None,
    store: StoreUrl = None,
    model: ModelName = None,
    scripted: Scripted = False,
    debug: Debug = False,
) -> None:
    """Run the cases of a data set. Exit code 1: it is worse than the baseline beyond the noise, or not complete."""
    if output is not None and baseline is not None and output.resolve() == baseline.resolve():
        raise ConfigurationError(f"{output} is the baseline, which is never overwritten: name another --output")
    dataset, loaded, place = _load(file, agents)
    runnable = choose_agent(loaded.everything, agent, place)
    options: dict[str, Any] = {"baseline": baseline, "seed": seed}
    if plans:
        from tactician.evals import evaluate_plans_sync

        report = evaluate_plans_sync(dataset, runnable, baseline=baseline, seed=seed or 0)
    else:
        limits = None if budget is None else Budget(cost=budget)
        options |= {"repeat": repeat, "max_parallel": max_parallel, "budget": limits, "timeout": timeout}
        options |= {"cache": cache, "id": id, "on_case": _Progress(repeat * len(dataset.cases))}
        models = choose_models(loaded, place, model, scripted)
        report = asyncio.run(_evaluate(dataset, runnable, options, Platform, models, find_store(store), loaded))
    _finish(report, output, html)


@evaluations.command()
def compare(before: Report, after: Report, html: Html = None, seed: Seed = 0, debug: Debug = False) -> None:
    """Compare two reports. Exit code 1: the second is worse, beyond the noise."""
    first, second = _read(before), _read(after)
    from tactician.evals import compare_reports
    from tactician.evals.terminal import print_comparison

    second.comparison = compare_reports(first, second, seed=seed)
    print_comparison(second.comparison, out)
    if html is not None:
        second.to_html(html)
    if second.is_worse:
        raise typer.Exit(1)


@evaluations.command()
def show(report: Report, html: Html = None, debug: Debug = False) -> None:
    """Show a report."""
    read = _read(report)
    if html is not None:
        read.to_html(html)
    else:
        read.print(out)


class _Progress:
    """Line on stderr for each case that has ended."""

    def __init__(self, expected: int) -> None:
        self._done, self._expected = 0, expected

    def __call__(self, entry: TrialEntry) -> None:
        self._done += 1
        failed = "" if entry.failed is None else f": {entry.failed.error_message}"
        say(f"{self._done}/{self._expected} {entry.name}{failed}")


async def _evaluate(
    dataset: Dataset[Any, Any, Any],
    runnable: object,
    options: dict[str, Any],
    create: type[Platform],
    models: Any,  # noqa: ANN401
    store: str | None,
    loaded: Loaded,
) -> EvalReport:
    from tactician.evals import evaluate

    if store is None:
        async with create(models) as platform:
            return await evaluate(dataset, runnable, platform=loaded.register(platform), **options)
    async with open_or_create(store) as documents, create(models, store=documents) as platform:
        return await evaluate(dataset, runnable, platform=loaded.register(platform), **options)


def _load(file: Path, agents: Path | None) -> tuple[Dataset[Any, Any, Any], Loaded, Path]:
    """Return the data set, the agents, and the file of these.

    Raises:
        ConfigurationError: when there is no data set, or no file with agents.
        MissingExtraError: when the extra is not installed.
    """
    with require_extra("evals", "An evaluation needs"):
        from pydantic_evals import Dataset

        from tactician.evals import load_dataset
    if file.suffix != ".py":
        if agents is None:
            raise ConfigurationError(f"{file} has no agents: name the file that has them with --agents FILE.py")
        return load_dataset(file), load_agents(agents), agents
    module = load_module(file)
    datasets = [value for value in vars(module).values() if isinstance(value, Dataset)]
    if len(datasets) != 1:
        problem = "no data set" if not datasets else f"{len(datasets)} data sets"
        raise ConfigurationError(f"{file} has {problem}: it needs one at module level, `dataset = Dataset(...)`")
    return datasets[0], find_agents(module, file) if agents is None else load_agents(agents), agents or file


def _read(file: Path) -> EvalReport:
    with require_extra("evals", "A report needs"):
        from tactician.evals import EvalReport
    return EvalReport.from_json(file)


def _finish(report: EvalReport, output: Path | None, html: Path | None) -> None:
    if output is not None:
        report.to_json(output)
    if html is not None:
        report.to_html(html)
    report.print(out)
    if report.is_worse or not report.is_complete:
        raise typer.Exit(1)
