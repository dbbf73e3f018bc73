"""Operations on what is not a single run: the server, who calls, what waits for people, the models, and the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf, isfinite
from operator import attrgetter
from typing import Final

from starlette.datastructures import QueryParams
from starlette.responses import PlainTextResponse, Response

from tactician.llm.model_sources import ObservedModelSource
from tactician.llm.routing.deployment import DeploymentStatus
from tactician.mesh.sources import RunningNodes
from tactician.platform import RunView
from tactician.platform.experience import ExperienceReader, Measured
from tactician.platform.host.meter import METER_SPAN, UsePoint
from tactician.serve.api.agents import find_run_names
from tactician.serve.api.forms.forms import Form, HealthForm, RequestForm
from tactician.serve.api.forms.overview_forms import (
    DeploymentForm,
    ExperienceForm,
    ExperiencesForm,
    HeldRunForm,
    MeForm,
    ModelsForm,
    ModelUseForm,
    OpenRequestForm,
    OpenRequestsForm,
    StoreForm,
    UsePointForm,
    WorkerForm,
)
from tactician.serve.api.forms.views import show_requests
from tactician.serve.api.forms.visibility import ANYBODY, sees_run
from tactician.serve.api.serving.operations import ApiOperation, Call, count_up_to
from tactician.serve.problems import ApiError

_MOST_RUNS: Final = 10_000
_MOST_IDS: Final = 100
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


async def show_me(call: Call) -> MeForm:
    """Return who calls, and what the person may do."""
    person = call.person
    return MeForm.show(person, roles=tuple(sorted(person.roles)), rights=tuple(sorted(person.rights)))


async def list_open_requests(call: Call) -> OpenRequestsForm:
    """Return the requests that wait for people: those with the next deadlines first, then the oldest."""
    query = call.request.query_params
    limit = call.find_number("limit", 1000, _MOST_RUNS)
    runs = await call.server.platform.list_waiting_runs(_MOST_RUNS)
    entries = [
        _show_open(run, request)
        for run in runs
        for request in show_requests(
            filter(attrgetter("is_for_people"), run.pending), call.viewer, sees_run=sees_run(call.person, run.user)
        )
    ]
    roles = tuple(sorted({entry.request.role for entry in entries if entry.request.role is not None}))
    names = find_run_names(call, query.getlist("agent"))
    chosen = [entry for entry in entries if _is_chosen(entry, query, names)]
    return OpenRequestsForm(requests=tuple(sorted(chosen, key=_rank)[:limit]), roles=roles)


async def list_models(call: Call) -> ModelsForm:
    """Return the models of the router, and the use of models over time."""
    models = call.server.platform.services.models
    statuses = models.status() if isinstance(models, ObservedModelSource) else ()
    return ModelsForm(
        deployments=tuple(map(_show_deployment, statuses)),
        use=tuple(
            ModelUseForm(model=model, points=tuple(map(_show_point, points)))
            for model, points in call.server.meter.points.items()
        ),
        seconds_per_point=METER_SPAN,
        since=call.server.meter.since,
    )


async def show_store(call: Call) -> StoreForm:
    """Return the store, the number of its runs, and the workers that hold some."""
    platform = call.server.platform
    running = await platform.runs(status="running", limit=_MOST_RUNS)
    queued = await platform.runs(status="not started", limit=_MOST_IDS)
    return StoreForm(
        kind=type(platform.store).__name__,
        runs=await platform.count_runs(),
        now=call.server.clock.time(),
        workers=_show_workers(running, call.server.host.worker_name),
        interrupted=tuple(run.id for run in running if run.was_interrupted)[:_MOST_IDS],
        queued=tuple(run.id for run in queued),
    )


async def list_experience(call: Call) -> ExperiencesForm:
    """Return what actions, tools and models took in the runs of the store."""
    measured = await ExperienceReader(call.server.platform.store).list_all(call.server.clock.time())
    return ExperiencesForm(experience=tuple(map(_show_experience, measured)))


def _show_experience(measured: Measured) -> ExperienceForm:
    experience = measured.experience
    by_model = {model: part.runs for model, part in experience.by_model}
    figures = {name: getattr(experience, name) for name in ("runs", "success", "seconds", "dollars")}
    return ExperienceForm.show(measured, by_model=by_model, **figures)


def _show_open(run: RunView, request: RequestForm) -> OpenRequestForm:
    return OpenRequestForm(run_id=run.id, agent=run.name, since=run.changed_at, request=request)


def _is_chosen(entry: OpenRequestForm, query: QueryParams, agents: Collection[str]) -> bool:
    if agents and entry.agent not in agents:
        return False
    facts = {"role": entry.request.role or "", "kind": entry.request.kind}
    return all(name not in query or value in query.getlist(name) for name, value in facts.items())


def _rank(entry: OpenRequestForm) -> tuple[float, float]:
    deadline = entry.request.deadline
    return inf if deadline is None else deadline, entry.since or 0.0


def _show_deployment(status: DeploymentStatus) -> DeploymentForm:
    cooldown, usage = status.cooldown_seconds, status.usage
    return DeploymentForm.show(
        status,
        circuit=_name_circuit(status),
        last_failure=status.failure,
        cooldown_seconds=cooldown if cooldown and isfinite(cooldown) else None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


def _name_circuit(status: DeploymentStatus) -> str:
    if not status.is_open:
        return "closed"
    return "open" if status.cooldown_seconds and isfinite(status.cooldown_seconds) else "half-open"


def _show_point(point: UsePoint) -> UsePointForm:
    return UsePointForm(
        at=point.at,
        calls=point.calls,
        errors=point.errors,
        seconds=point.seconds,
        input_tokens=point.usage.input_tokens,
        output_tokens=point.usage.output_tokens,
        cost=point.cost,
    )


def _show_workers(running: Iterable[RunView], own_name: str) -> tuple[WorkerForm, ...]:
    held: dict[str, list[HeldRunForm]] = {own_name: []}
    for run in running:
        if run.worker:
            held.setdefault(run.worker, []).append(
                HeldRunForm(run_id=run.id, agent=run.name, status=run.status, lease_ends_at=run.lease_ends_at)
            )
    return tuple(
        WorkerForm(name=name, is_this_server=name == own_name, runs=tuple(runs)) for name, runs in held.items()
    )


OVERVIEW_OPERATIONS: Final = (
    ApiOperation("GET", "/api/me", show_me, "Show who calls", MeForm, None),
    ApiOperation(
        "GET",
        "/api/requests",
        list_open_requests,
        "List the requests that wait for people",
        OpenRequestsForm,
        ANYBODY,
        query={
            "role": "role that a request requires, or several; empty for none",
            "kind": "kind of request, or several",
            "agent": "id or name of an agent, or several",
            "limit": "most requests, up to 10000",
        },
        query_types={
            **{name: {"type": "array", "items": {"type": "string"}} for name in ("role", "kind", "agent")},
            "limit": count_up_to(_MOST_RUNS),
        },
    ),
    ApiOperation("GET", "/api/models", list_models, "List the models and their use", ModelsForm),
    ApiOperation("GET", "/api/experience", list_experience, "List what actions took", ExperiencesForm),
    ApiOperation("GET", "/api/store", show_store, "Show the store and its workers", StoreForm),
)


async def check_life(call: Call) -> Form:
    """Report that the server is alive."""
    return HealthForm()


async def check_readiness(call: Call) -> Form:
    """Report that the server continues runs, and that its store answers."""
    if not call.server.host.is_ready:
        raise ApiError(503, "The server is not started, or about to stop.")
    await call.server.platform.runs(limit=1)
    return HealthForm()


async def show_metrics(call: Call) -> Response:
    """Return figures in the text format of Prometheus."""
    statuses = await call.server.platform.count_runs()
    lines = ["# HELP tactician_runs Runs in the store, by status.", "# TYPE tactician_runs gauge"]
    lines += [f'tactician_runs{{status="{status}"}} {count}' for status, count in sorted(statuses.items())]
    for name, kind, purpose, value in (
        ("tactician_events_total", "counter", "Events since the server started.", call.server.feed.last),
        ("tactician_streams", "gauge", "Open streams of events.", call.server.streams.open),
    ):
        lines += [f"# HELP {name} {purpose}", f"# TYPE {name} {kind}", f"{name} {value}"]
    lines += call.server.platform.services.find(RunningNodes).write_figures()
    return PlainTextResponse("\n".join(lines) + "\n", media_type=_METRICS_TYPE)


HEALTH_OPERATIONS: Final = (
    ApiOperation("GET", "/livez", check_life, "Liveness check", HealthForm, None),
    ApiOperation("GET", "/readyz", check_readiness, "Readiness check", HealthForm, None),
    ApiOperation("GET", "/metrics", show_metrics, "Show figures for Prometheus", media_type="text/plain"),
)
