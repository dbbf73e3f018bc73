"""Forms of what is not about a single run: who calls, what waits for people, the models, and the store."""

from __future__ import annotations

from tactician.documents.forms import form_of
from tactician.llm.routing.deployment import DeploymentStatus
from tactician.people.person import Person, Right
from tactician.serve.api.forms.forms import Form, RequestForm, UsageForm


@form_of(Person)
class MeForm(Form):
    """Person who calls, and what the person may do."""

    roles: tuple[str, ...]
    rights: tuple[Right, ...]


class OpenRequestForm(Form):
    """Request that waits for a person, and the run that waits for it."""

    run_id: str
    agent: str
    since: float | None
    request: RequestForm


class OpenRequestsForm(Form):
    """Requests that wait for people: those with the next deadlines first, then the oldest.

    Attributes:
        requests: the requests.
        roles: the roles that they require, all of them together.
    """

    requests: tuple[OpenRequestForm, ...]
    roles: tuple[str, ...]


@form_of(DeploymentStatus, without=("is_open", "failure", "cooldown_until", "usage"))
class DeploymentForm(UsageForm):
    """Model at an instance, as the router sees it."""

    circuit: str
    last_failure: str | None
    cooldown_seconds: float | None


class UsePointForm(UsageForm):
    """Use of a model in a span of time, from `at`. A cost that is not known is null."""

    at: float
    calls: int
    errors: int
    seconds: float


class ModelUseForm(Form):
    """Use of a model over time, as the server has seen it, or the store has it from before."""

    model: str
    points: tuple[UsePointForm, ...]


class ModelsForm(Form):
    """Models: the deployments of the router, and what runs have used.

    Attributes:
        deployments: each model at each instance; none where there is no router.
        use: use of each model over time.
        seconds_per_point: length of the span of each point.
        since: time from which the use is counted, in seconds since the epoch.
    """

    deployments: tuple[DeploymentForm, ...]
    use: tuple[ModelUseForm, ...]
    seconds_per_point: float
    since: float


class HeldRunForm(Form):
    """Run that a worker holds, until its lease ends or is renewed."""

    run_id: str
    agent: str
    status: str
    lease_ends_at: float | None


class WorkerForm(Form):
    """Worker that holds runs of the store."""

    name: str
    is_this_server: bool
    runs: tuple[HeldRunForm, ...]


class ExperienceForm(Form):
    """Experience with an action of an agent, a tool or a model, from the newest runs of the store.

    Attributes:
        kind: `action`, `tool` or `model`.
        name: its name.
        agent: name of the agent of an action; empty for tools and models.
        runs: number of runs.
        success: the chance of success, of which recent runs count more.
        seconds: duration of a run.
        dollars: US dollars of a run.
        by_model: number of runs with each model.
    """

    kind: str
    name: str
    agent: str
    runs: int
    success: float
    seconds: float
    dollars: float
    by_model: dict[str, int]


class ExperiencesForm(Form):
    """Experience with actions, tools and models."""

    experience: tuple[ExperienceForm, ...]


class StoreForm(Form):
    """Store of the runs, and those who work on them.

    Attributes:
        kind: kind of the store.
        runs: number of runs with each status.
        now: seconds since the epoch, by the clock of the server.
        workers: the workers that hold runs; others wait for work.
        interrupted: ids of runs that no worker holds, although they run: their workers have died, or were stopped.
        queued: ids of runs that wait for a worker, the most urgent first, some at most.
    """

    kind: str
    runs: dict[str, int]
    now: float
    workers: tuple[WorkerForm, ...]
    interrupted: tuple[str, ...]
    queued: tuple[str, ...]
