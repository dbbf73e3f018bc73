"""Commands of the shell that show what there is: agents and what they can do, models, and runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from rich.markup import escape
from rich.table import Table

from tactician.agents import Agent
from tactician.agents.planned.specs import planned_spec
from tactician.cli.console import out
from tactician.cli.drawing import build_agent_tree, describe_kind
from tactician.cli.formatting import format_time, format_usage, shorten
from tactician.cli.listing import add_run, create_run_table
from tactician.cli.models import show_models
from tactician.cli.run_tables import print_objects, print_run, print_steps
from tactician.cli.shell.session import ShellSession
from tactician.cli.shell.work_commands import RunId
from tactician.cli.shell_commands import ShellOption
from tactician.cli.statuses import format_status
from tactician.errors import ConfigurationError
from tactician.llm import ModelCatalog
from tactician.platform import RunView
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import RunStatus

AgentChoice = Annotated[str | None, ShellOption("-a", "Name of the agent; all by default.")]
_OPEN = frozenset(status.value for status in RunStatus if not status.is_terminal)


def list_agents(session: ShellSession) -> None:
    """List the agents."""
    table = Table("agent", "kind", "what it is for", "goals")
    for name, agent in session.agents.items():
        spec = planned_spec(agent)
        goals = "" if spec is None else ", ".join(goal.name for goal in spec.goals)
        table.add_row(*map(escape, (name, describe_kind(agent), agent.description, goals)))
    out.print(table)


def list_actions(session: ShellSession, agent: AgentChoice = None) -> None:
    """List the actions of planned agents, with what they take and give."""
    rows = (
        (spec.name, action.name, ", ".join(action.needs), ", ".join(action.gives), action.description)
        for spec in _list_specs(session, agent)
        for action in spec.actions
    )
    _print_table("action", ("agent", "action", "takes", "gives", "what it does"), rows)


def list_goals(session: ShellSession, agent: AgentChoice = None) -> None:
    """List the goals of planned agents."""
    rows = ((spec.name, goal.name, goal.description) for spec in _list_specs(session, agent) for goal in spec.goals)
    _print_table("goal", ("agent", "goal", "what it is"), rows)


def list_conditions(session: ShellSession, agent: AgentChoice = None) -> None:
    """List the conditions that planned agents plan with."""
    rows = (
        (spec.name, name, "computed" if name in spec.conditions else "observed")
        for spec in _list_specs(session, agent)
        for name in (*spec.conditions, *spec.observations)
    )
    _print_table("condition", ("agent", "condition", "how it is known"), rows)


async def list_tools(session: ShellSession) -> None:
    """List the tools of the agents and of the tool groups."""
    rows: list[tuple[str, ...]] = []
    for name, agent in session.agents.items():
        if isinstance(agent, Agent):
            rows += ((name, tool.name, shorten(tool.description)) for tool in agent.tools)
    for name in session.platform.tool_groups:
        tools = await session.platform.tool_groups[name].load_tools()
        rows += ((f"group {name}", tool.name, shorten(tool.description)) for tool in tools)
    _print_table("tool", ("where", "tool", "what it does"), rows)


def list_models(session: ShellSession) -> None:
    """Show the available models: abilities, prices and the default."""
    models = session.platform.services.models
    if isinstance(models, ModelCatalog):
        show_models(out, models, check=False)
    else:
        out.print("The script of the file answers for all models.")


def draw_plans(
    session: ShellSession,
    agent: AgentChoice = None,
    verbose: Annotated[bool, ShellOption("-v", "Describe all actions, and say why some are in no plan.")] = False,
) -> None:
    """Draw the plans of planned agents."""
    for spec in _list_specs(session, agent):
        out.print(build_agent_tree(spec, verbose=verbose))


async def list_runs(
    session: ShellSession, all: Annotated[bool, ShellOption("-A", "Those that have ended, too.")] = False
) -> None:
    """List the runs, the oldest first."""
    runs = [run for run in await session.platform.runs() if all or run.status in _OPEN or run.id in session.known_runs]
    if not runs:
        out.print("No runs." if all else "No open runs. `runs --all` shows finished runs too.")
        return
    table = create_run_table()
    for run in runs:
        details = run.problem or "; ".join(request.prompt for request in run.pending) or run.failure or run.output
        add_run(
            table,
            id=run.id,
            agent=run.name,
            status=format_status(run.status, was_interrupted=run.was_interrupted),
            since="" if run.changed_at is None else format_time(run.changed_at),
            used=format_usage(run.seconds, run.tally),
            details=shorten(details),
        )
    out.print(table)


async def show_run(session: ShellSession, run: RunId = "") -> None:
    """Show a run: its status, history, messages, objects and pending requests."""
    print_run(await _read_run(session, run))


async def show_blackboard(session: ShellSession, run: RunId = "") -> None:
    """Show the objects on the blackboard of a run, and its conditions."""
    view = await _read_run(session, run)
    if not view.objects and not view.conditions:
        out.print(f"{view.id} has no blackboard.", highlight=False)
        return
    print_objects(view)
    _print_table(
        "onditionondition",
        ("condition", "value"),
        ((name, str(value).lower()) for name, value in view.conditions.items()),
    )


async def show_steps(session: ShellSession, run: RunId = "") -> None:
    """Show the saved steps of a run."""
    print_steps(await session.platform.steps(await session.find_run(run)))


async def _read_run(session: ShellSession, run: str) -> RunView:
    return (await session.platform.tree(await session.find_run(run))).run


def _list_specs(session: ShellSession, agent: str | None) -> Iterator[PlannedAgentSpec]:
    """Yield the planned agents, or the planned agent with a name.

    Raises:
        ConfigurationError: when none of the agents plans.
    """
    chosen = session.agents.values() if agent is None else [session.get_agent(agent)]
    specs = [spec for runnable in chosen if (spec := planned_spec(runnable)) is not None]
    if not specs:
        raise ConfigurationError(f"{agent or 'None of the agents'} is no planned agent: only these have actions.")
    yield from specs


def _print_table(noun: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    listed = list(rows)
    if not listed:
        out.print(f"No {noun}s.")
        return
    table = Table(*heads)
    for row in listed:
        table.add_row(*map(escape, row))
    out.print(table)
