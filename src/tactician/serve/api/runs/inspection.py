"""Operations that look into a run: its plans, and the tree of all that it did."""

from __future__ import annotations

from typing import Final

from tactician.events.encoding import encode
from tactician.planning import Plan
from tactician.planning.explanation import Explanation
from tactician.process import PlanMade
from tactician.serve.api.forms.forms import (
    ExpectationForm,
    PlanForm,
    PlansForm,
    PlanStepForm,
    SlotForm,
    TraceForm,
)
from tactician.serve.api.forms.visibility import READERS
from tactician.serve.api.runs.history import list_events
from tactician.serve.api.runs.lookup import find_run
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.trace import Trace
from tactician.trace.capture import CaptureMode
from tactician.trace.sharing import mask_nodes


async def list_plans(call: Call) -> PlansForm:
    """Return the plans of a run and of those inside it, oldest first, and why it has none, if it is stuck."""
    run_id = call.find_id("run_id")
    run = await find_run(call, run_id)
    events = await list_events(call.server, run_id)
    plans = [_show_plan(event) for event in events if isinstance(event, PlanMade)]
    failure = None if run.failure is None else call.viewer.mask(run.failure)
    return PlansForm(plans=tuple(plans), failure=failure)


async def show_trace(call: Call) -> TraceForm:
    """Return the tree of all that a run did, with masks for secrets."""
    run_id = call.find_id("run_id")
    viewer = call.viewer.look_at(await find_run(call, run_id))
    is_whole = viewer.capture is CaptureMode.FULL
    trace = Trace.from_events(await list_events(call.server, run_id), run_id, is_whole=is_whole)
    return TraceForm.model_validate_json(Trace(mask_nodes(trace.roots, viewer.masking)).to_json())


def _show_plan(event: PlanMade) -> PlanForm:
    plan = event.plan
    return PlanForm(
        run_id=event.run_id,
        path=event.path,
        at=event.time,
        goal=plan.goal.name,
        conditions={name: encode(value) for name, value in plan.goal.conditions.items()},
        steps=_show_steps(plan),
        cost=plan.cost,
        net_value=plan.net_value,
        is_optimal=plan.optimal,
        why=str(Explanation(plan.goal, plan)),
        penalty=plan.penalty,
        expected=_show_expected(plan),
    )


def _show_expected(plan: Plan) -> ExpectationForm | None:
    if all(action.estimate is None for action in plan.actions):
        return None
    expected = plan.expected
    return ExpectationForm.show(expected, timeline=tuple(map(SlotForm.show, expected.timeline)))


def _show_steps(plan: Plan) -> tuple[PlanStepForm, ...]:
    return tuple(
        PlanStepForm(name=action.name, cost=cost, needs=dict(action.pre), effects=dict(action.effects))
        for action, cost in zip(plan.actions, plan.costs, strict=True)
    )


INSPECTION_OPERATIONS: Final = (
    ApiOperation("GET", "/api/runs/{run_id}/plans", list_plans, "List the plans of a run", PlansForm, READERS),
    ApiOperation("GET", "/api/runs/{run_id}/trace", show_trace, "Show all that a run did", TraceForm, READERS),
)
