"""Forms of what callers send and get, as the OpenAPI document describes them.

A form of an object of the program takes its fields from the class of the object, and writes only what differs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tactician.diagrams.diagram import DiagramEdge, DiagramNode
from tactician.documents.forms import form_of
from tactician.planning.forecast.expectation import PlanExpectation, Slot
from tactician.platform import RunView
from tactician.platform.views.steps import StepView

Text = Annotated[str, Field(max_length=200)]
Pictures = Annotated[tuple[str, ...], Field(max_length=20)]


class Form(BaseModel):
    """Part of a request or a response."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def show(cls, source: object, **shown: object) -> Self:
        """Return the form of an object: the attributes that the form has too, unless they are shown otherwise."""
        values: dict[str, Any] = {name: getattr(source, name) for name in cls.model_fields if hasattr(source, name)}
        return cls(**values | shown)


class PlanReviewForm(Form):
    """Terms under which a person decides on the plans of a run.

    Attributes:
        role: role that a person needs to decide; null for anybody.
        seconds: how long to wait; null for no end.
        default: the decision when nobody has decided in time.
        replans: ask for each later plan that is not the rest of the approved plan, or allow them.
        above_dollars: US dollars; a plan that is expected to take no more needs no decision. Null: each plan needs one.
    """

    role: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    default: Literal["approve", "reject"] = "reject"
    replans: Literal["ask", "allow"] = "ask"
    above_dollars: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] | None = None


class StartForm(Form):
    """Run to start.

    Attributes:
        input: text, or JSON in the form of one of the agent's inputs.
        pictures: pictures beside a text, for agents that read messages; in the form of a message's pictures.
        type: the name of the input's type, where several have the same form.
        priority: rank among the runs that wait to be started.
        seconds: time by which the run has to end, from now.
        idempotency_key: key of the run. With a key that was used before, the earlier run is the answer.
        plan_review: terms under which a person decides on the plans of a planned agent first; null for no reviews.
        objective: what the plans of a planned agent are to save.
        rules: rules of the run of a planned agent, as in before("verify", "pay_out").
    """

    input: JsonValue = None
    pictures: Pictures = ()
    type: Text | None = None
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    plan_review: PlanReviewForm | None = None
    objective: Literal["cost", "time", "dollars"] | None = None
    rules: Annotated[tuple[Annotated[str, Field(max_length=1000)], ...], Field(max_length=50)] = ()


class AnswerForm(Form):
    """Answer to a request of a run.

    Attributes:
        request: the id of the request.
        response: JSON in the form that the request's schema describes; true or false for an approval.
        arguments: other arguments for a tool that is approved.
        reason: why it is rejected: for a response that is false.
    """

    request: Annotated[str, Field(min_length=1, max_length=1000)]
    response: JsonValue = None
    arguments: dict[str, JsonValue] | None = None
    reason: Annotated[str, Field(max_length=10_000)] = ""


class MessageForm(Form):
    """Message to an agent in a conversation.

    Attributes:
        agent: the id of the agent.
        message: the text.
        pictures: pictures beside it: base64, `https:` or `data:` URLs, or the addresses of uploads.
        idempotency_key: key of the message. A message with a key that the caller has used before in the conversation
            is not sent again: the answer to the earlier message is the answer.
    """

    agent: Text
    message: Annotated[str, Field(min_length=1)]
    pictures: Pictures = ()
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class RequestForm(Form):
    """Request that a run waits for."""

    id: str
    kind: str
    prompt: str
    tool: str | None = None
    arguments: JsonValue = None
    form: JsonValue = None
    role: str | None = None
    deadline: float | None = None
    problem: str | None = None
    path: tuple[str, ...] = ()
    may_answer: bool = True
    default: JsonValue = None


class UsageForm(Form):
    """Tokens and cost of a run. A cost that is not known is null."""

    input_tokens: int
    output_tokens: int
    cost: float | None


@form_of(
    RunView,
    only=(
        *("id", "kind", "status", "started_at", "changed_at", "seconds", "goal", "failure", "output", "steps"),
        *("parent_id", "was_interrupted", "worker", "lease_ends_at"),
    ),
)
class RunForm(Form):
    """Run as it stands. Its `status` is also in the words that clients of jobs use, as `job_status`."""

    agent: str
    job_status: Literal["in_progress", "completed", "failed", "waiting", "cancelled", "unknown"]
    usage: UsageForm
    pending: tuple[RequestForm, ...] = ()
    result: JsonValue = None


class ActionForm(Form):
    """Action that a process has run."""

    name: str
    started_at: float
    seconds: float
    outputs: tuple[str, ...]
    error: str | None
    cost: float | None


class ObjectForm(Form):
    """Object on the blackboard of a process."""

    type: str
    value: JsonValue
    name: str
    is_hidden: bool


class ModelUsageForm(UsageForm):
    """Tokens, calls and cost of a model. A cost that is not known is null."""

    model: str
    calls: int
    cached_tokens: int
    thinking_tokens: int


class RunDetailsForm(Form):
    """Run with what it has done and used, and the runs inside it."""

    run: RunForm
    models: tuple[ModelUsageForm, ...] = ()
    history: tuple[ActionForm, ...] = ()
    objects: tuple[ObjectForm, ...] = ()
    conditions: dict[str, bool] = {}
    messages: tuple[JsonValue, ...] = ()
    children: tuple[RunDetailsForm, ...] = ()


class RunsForm(Form):
    """Runs, the newest first. The next page, if any, begins `after` the number in `next`."""

    runs: tuple[RunForm, ...]
    next: int | None = None


class PlanStepForm(Form):
    """Action of a plan, with the conditions that it needs and those that it makes true or false."""

    name: str
    cost: float
    needs: dict[str, bool]
    effects: dict[str, bool]


@form_of(Slot)
class SlotForm(Form):
    """Time of an action in a plan, in seconds after its first action starts."""


@form_of(PlanExpectation, without=("timeline",))
class ExpectationForm(Form):
    """Expectation of a plan by the earlier runs of its actions: seconds, dollars, and the chance of success.

    Attributes:
        makespan: seconds from the start of the first action to the end of the last.
        timeline: when each action runs.
    """

    makespan: float
    timeline: tuple[SlotForm, ...]


class PlanForm(Form):
    """Plan of a process, and why it was chosen. Where nothing is known of its actions, nothing is expected."""

    run_id: str
    path: tuple[str, ...]
    at: float
    goal: str
    conditions: dict[str, JsonValue]
    steps: tuple[PlanStepForm, ...]
    cost: float
    net_value: float
    is_optimal: bool
    why: str
    penalty: float
    expected: ExpectationForm | None


class PlansForm(Form):
    """Plans of a run and of those inside it, oldest first; `failure` says what is missing when the run is stuck."""

    plans: tuple[PlanForm, ...]
    failure: str | None = None


class TraceForm(Form):
    """Tree of all that a run did, in the JSON form of `Trace`: each node has the id of the node around it."""

    format: str
    version: int
    nodes: tuple[dict[str, JsonValue], ...]


@form_of(StepView, only=("number", "kind", "name", "detail", "path", "at", "seconds"))
class StepForm(Form):
    """Step of a run, from which `fork` starts another."""


class StepsForm(Form):
    """Steps of a run, oldest first."""

    steps: tuple[StepForm, ...]


class InputForm(Form):
    """Type of input that an agent takes."""

    type: str
    form: JsonValue


class AgentForm(Form):
    """Agent that can be started.

    Attributes:
        id: by what requests name it.
        name: the name.
        description: the purpose.
        kind: the class.
        takes_text: true when a run can be started with a text.
        inputs: the types of its other inputs.
        chats: true when it answers the messages of a conversation.
        plans: true when it makes plans, which a person can review.
    """

    id: str
    name: str
    description: str
    kind: str
    takes_text: bool
    inputs: tuple[InputForm, ...]
    chats: bool = False
    plans: bool = False


class AgentsForm(Form):
    """Agents that can be started."""

    agents: tuple[AgentForm, ...]


@form_of(DiagramNode, without=("status",))
class DiagramNodeForm(Form):
    """Node of a drawing, with the lines of its label."""


@form_of(DiagramEdge)
class DiagramEdgeForm(Form):
    """Edge of a drawing, between the ids of two nodes."""


class DiagramForm(Form):
    """Drawing of an agent: as Mermaid text, as SVG, and as nodes and edges that have no places yet."""

    mermaid: str
    svg: str
    direction: Literal["LR", "TD"]
    nodes: tuple[DiagramNodeForm, ...]
    edges: tuple[DiagramEdgeForm, ...]


class ConversationForm(Form):
    """Messages of a conversation.

    Attributes:
        run_id: id of the run that answered last, if any.
    """

    id: str
    messages: tuple[JsonValue, ...]
    run_id: str | None = None


class ConversationEntryForm(Form):
    """Conversation in a list.

    Attributes:
        agent: id of the agent that answers in it; `None` for a conversation that an earlier version has stored.
        title: beginning of the first message.
        changed_at: seconds since the epoch of the last change.
        run_id: id of the run that answered last, if any.
        waiting: true when that run waits for an answer.
    """

    id: str
    agent: str | None
    title: str
    changed_at: float
    run_id: str | None
    waiting: bool


class ConversationsForm(Form):
    """Conversations, the newest first. The next page, if any, begins `after` the number in `next`."""

    conversations: tuple[ConversationEntryForm, ...]
    next: int | None = None


class PictureForm(Form):
    """Picture that was uploaded.

    Attributes:
        id: the hash of its content.
        url: its address on this server, which messages and runs name.
        media_type: the type that its content has.
    """

    id: str
    url: str
    media_type: str


class AnswerTextForm(Form):
    """Answer of an agent in a conversation."""

    run_id: str | None
    status: str
    text: str
    pending: tuple[RequestForm, ...] = ()


class HealthForm(Form):
    """State of the server."""

    status: Literal["ok"] = "ok"


class ProblemForm(Form):
    """Reason for which a request was refused."""

    class Details(Form):
        """Kind of error, and its text."""

        type: str
        message: str

    error: Details
