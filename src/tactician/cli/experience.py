"""`tactician experience`: what the actions, tools and models of a store took, and the plans that follow from it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias

import typer
from pydantic_core import to_json

from tactician.cli.console import Debug, StoreUrl, out, print_json
from tactician.cli.stores import require_store
from tactician.clock import SYSTEM_CLOCK
from tactician.grammar import write_number
from tactician.planning import Objective
from tactician.platform.experience import ExperienceReader, Measured
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.deciding.experience import ExperienceTable
from tactician.process.deciding.forecasting import build_forecast
from tactician.stores import open_store
from tactician.terminal_tables import print_table

_COLUMNS: Final = ("kind", "name", "agent", "runs", "success", "seconds", "dollars", "by model")

ObjectiveName: TypeAlias = Annotated[
    str | None, typer.Option("--objective", help="What plans are to save: cost, time or dollars.")
]


def experience(
    store: StoreUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Show what actions, tools and models took in the runs of a store: runs, success, seconds, dollars."""
    measured = asyncio.run(_list_measured(require_store(store)))
    if as_json:
        print_json(to_json([_describe(each) for each in measured], indent=2).decode())
        return
    if not measured:
        out.print("No runs yet. `tactician run FILE --store STORE` makes the first.")
        return
    rows = []
    for each in measured:
        known = each.experience
        by_model = ", ".join(f"{model}: {part.runs}" for model, part in known.by_model)
        figures = (str(known.runs), f"{known.success:.0%}", write_number(known.seconds, ".3g"), f"{known.dollars:.4f}")
        rows.append((each.kind, each.name, each.agent, *figures, by_model))
    print_table(out, _COLUMNS, rows, figures=_COLUMNS[3:7])


async def _list_measured(address: str) -> list[Measured]:
    async with open_store(address) as documents:
        return await ExperienceReader(documents).list_all(SYSTEM_CLOCK.time())


def _describe(measured: Measured) -> dict[str, object]:
    known = measured.experience
    return {
        "kind": measured.kind,
        "name": measured.name,
        "agent": measured.agent,
        "runs": known.runs,
        "success": known.success,
        "seconds": known.seconds,
        "dollars": known.dollars,
        "by_model": {model: part.runs for model, part in known.by_model},
    }


def price_agents(
    agents: Sequence[PlannedAgentSpec], store: str | None, objective: str | None
) -> Sequence[PlannedAgentSpec]:
    """Return agents whose actions have the costs that follow from the runs of a store, where one is named."""
    if store is None and objective is None:
        return agents
    table = asyncio.run(_read_table(require_store(store)))
    chosen = None if objective is None else Objective.of(objective)
    return [build_forecast(agent, table, chosen or agent.objective).price() for agent in agents if not agent.is_led]


async def _read_table(address: str) -> ExperienceTable:
    async with open_store(address) as documents:
        return await ExperienceReader(documents).read(SYSTEM_CLOCK.time())
