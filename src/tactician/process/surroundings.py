"""The context of what runs inside a process."""

from __future__ import annotations

from dataclasses import replace

from tactician.process.options import ProcessOptions
from tactician.process.telling import log_of
from tactician.runs import BudgetMeter, Pace, RunContext


def surroundings(context: RunContext, options: ProcessOptions, meter: BudgetMeter) -> RunContext:
    """The context of a process, with the budget, the listeners and the pace that its options ask for."""
    log = None if options.verbosity is None else log_of(options.verbosity)
    pace = Pace(options.tool_delay, context.clock) if options.tool_delay else context.pace
    # Actions are planned anew, not run again in the same order: no frame of theirs would be found again.
    return replace(
        context,
        meter=meter,
        frame=None,
        services=context.services.with_bus(context.bus.child(options.on_event, log)),
        pace=pace,
        parent_id=context.process_id,
        process_id=context.run_id,
    )
