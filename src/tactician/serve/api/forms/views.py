"""Runs, agents and requests in the forms that callers get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue, TypeAdapter
from pydantic.errors import PydanticUserError

from tactician.agents.planned.specs import planned_spec
from tactician.chat.reactive import reacts_to_messages
from tactician.conversation import ChatUser, Conversation
from tactician.diagrams.diagram import Diagram
from tactician.diagrams.mermaid import to_mermaid
from tactician.diagrams.svg import to_svg
from tactician.events.encoding import encode
from tactician.llm import Usage, UserMessage
from tactician.llm.messages import messages_to_data
from tactician.platform import RunTree, RunView
from tactician.platform.start_objects import list_start_types
from tactician.platform.views.runs import ObjectView
from tactician.platform.views.steps import StepView
from tactician.process import UserInput
from tactician.process.state.state import ActionRun
from tactician.runs import PendingRequest, Runnable
from tactician.runs.life.inputs import InputTypes
from tactician.serve.api.forms.forms import (
    ActionForm,
    AgentForm,
    DiagramEdgeForm,
    DiagramForm,
    DiagramNodeForm,
    InputForm,
    ModelUsageForm,
    ObjectForm,
    RequestForm,
    RunDetailsForm,
    RunForm,
    StepForm,
    UsageForm,
)
from tactician.serve.api.forms.pictures import find_picture_address, link_pictures
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.forms.visibility import may_answer
from tactician.tools.runnable import TypedInput

_CHAT_TYPES: Final = (Conversation, ChatUser, UserMessage)
"""Types of what a chat gives to the actions of an agent, for which nobody fills in a form."""
JobStatus: TypeAlias = Literal["in_progress", "completed", "failed", "waiting", "cancelled", "unknown"]
_JOB_STATUSES: Final[Mapping[str, JobStatus]] = {
    "not started": "in_progress",
    "running": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "terminated": "failed",
    "stuck": "failed",
    "killed": "cancelled",
    "waiting": "waiting",
    "paused": "in_progress",
    "resting": "completed",
}


def show_run(run: RunView, viewer: Viewer, result: object = None) -> RunForm:
    """Return a run as a person sees it. Its result is as it is: it is there to be used."""
    failure = run.failure or run.problem
    return RunForm.show(
        run,
        agent=run.name,
        job_status=_JOB_STATUSES.get(run.status, "unknown"),
        usage=UsageForm.show(run.usage),
        pending=show_requests(run.pending, viewer),
        failure=None if failure is None else viewer.mask(failure),
        output=viewer.mask(run.output),
        result=link_pictures(encode(result), find_picture_address(run.id, viewer.base)),
    )


def show_tree(tree: RunTree, viewer: Viewer, result: object = None) -> RunDetailsForm:
    """Return a run with its history, its objects and the runs inside it."""
    run, viewer = tree.run, viewer.look_at(tree.run)
    address = find_picture_address(run.id, viewer.base)
    return RunDetailsForm(
        run=show_run(run, viewer, result),
        models=tuple(_show_model_usage(model, usage) for model, usage in run.tally.by_model.items()),
        history=tuple(_show_action(action, viewer) for action in run.history),
        objects=tuple(_show_object(entry, viewer, address) for entry in run.objects),
        conditions=dict(run.conditions),
        messages=_show_messages(run, viewer, address),
        children=tuple(show_tree(child, viewer) for child in tree.children),
    )


def _show_object(entry: ObjectView, viewer: Viewer, address: str) -> ObjectForm:
    value = viewer.mask_json(link_pictures(entry.value, address)) if viewer.sees_content else None
    return ObjectForm(type=entry.type, value=value, name=entry.binding, is_hidden=entry.is_hidden)


def _show_messages(run: RunView, viewer: Viewer, address: str) -> tuple[JsonValue, ...]:
    messages = messages_to_data(run.messages) if viewer.sees_content else ()
    return tuple(viewer.mask_json(link_pictures(encode(message), address)) for message in messages)


def show_step(step: StepView, viewer: Viewer) -> StepForm:
    """Return a step of a run."""
    return StepForm.show(step, detail=viewer.mask(step.detail) if viewer.sees_content else "")


def conceal_run(run: RunView, viewer: Viewer) -> RunForm:
    """Return a run for a viewer who may not see it: that it is there, and the requests that the viewer may answer."""
    # What the form has is listed here, and not what it lacks: a new field of a run stays concealed.
    shown = RunView(run.id, run.name, run.kind, run.status, started_at=run.started_at, changed_at=run.changed_at)
    return RunForm.show(
        shown,
        agent=run.name,
        job_status=_JOB_STATUSES.get(run.status, "unknown"),
        usage=UsageForm(input_tokens=0, output_tokens=0, cost=None),
        pending=show_requests(run.pending, viewer, sees_run=False),
    )


def show_requests(
    requests: Iterable[PendingRequest], viewer: Viewer, *, sees_run: bool = True
) -> tuple[RequestForm, ...]:
    """Return the requests that nobody has answered yet, and for each if the person may.

    Of a run that the person may not see, only those that the person may answer.
    """
    waiting = (request for request in requests if not request.is_answered)
    asked = ((request, may_answer(viewer.person, request, sees_run=sees_run)) for request in waiting)
    return tuple(
        _show_request(request, viewer, may_answer=allowed) for request, allowed in asked if sees_run or allowed
    )


def show_agent(agent_id: str, agent: Runnable) -> AgentForm:
    """Return an agent with the types of its inputs."""
    kinds, chats = list_input_types(agent), reacts_to_messages(agent)
    shown = [kind for kind in kinds if not (chats and kind in _CHAT_TYPES)]
    takes_text = not kinds or UserInput in kinds
    return AgentForm.show(
        agent,
        id=agent_id,
        kind=type(agent).__name__,
        takes_text=takes_text,
        inputs=tuple(InputForm(type=kind.__name__, form=schema) for kind, schema in find_schemas(shown)),
        chats=chats or takes_text,
        plans=planned_spec(agent) is not None,
    )


def show_diagram(diagram: Diagram) -> DiagramForm:
    """Return a drawing in every form."""
    return DiagramForm(
        mermaid=to_mermaid(diagram),
        svg=to_svg(diagram),
        direction=diagram.direction,
        nodes=tuple(map(DiagramNodeForm.show, diagram.nodes)),
        edges=tuple(map(DiagramEdgeForm.show, diagram.edges)),
    )


def list_input_types(agent: Runnable) -> tuple[type, ...]:
    """Return the classes of the objects that an agent takes.

    For a planned agent, these are the classes that none of its actions gives. An ensemble whose tasks have templates
    takes values by their names.
    """
    if (spec := planned_spec(agent)) is not None:
        return list_start_types(spec)
    if (values := find_values_type(agent)) is not None:
        return (values,)
    declared = getattr(agent, "input_types", InputTypes())
    kinds = declared.types if isinstance(declared, InputTypes) else ()
    return tuple(kind for kind in kinds if isinstance(kind, type))


def find_values_type(agent: Runnable) -> type | None:
    """Return the type of the named values that an agent takes instead of a text, if it does."""
    return agent.tool_arguments if isinstance(agent, TypedInput) else None


def find_schemas(kinds: Iterable[type]) -> Iterable[tuple[type, JsonValue]]:
    """Yield the types that have a JSON form, with its schema."""
    for kind in kinds:
        try:
            yield kind, TypeAdapter(kind).json_schema()
        except PydanticUserError:
            continue


def _show_model_usage(model: str, usage: Usage) -> ModelUsageForm:
    return ModelUsageForm.show(
        usage,
        model=model,
        calls=usage.requests,
        cached_tokens=usage.cache_read_tokens,
        thinking_tokens=usage.reasoning_tokens,
    )


def _show_action(action: ActionRun, viewer: Viewer) -> ActionForm:
    error = None if action.error is None else viewer.mask(action.error)
    return ActionForm.show(action, name=action.action, error=error, cost=action.usage.cost)


def _show_request(request: PendingRequest, viewer: Viewer, *, may_answer: bool) -> RequestForm:
    """Return a request as a person reads it, whose arguments have masks unless the person decides about them."""
    arguments = None if request.call is None else request.call.arguments
    return RequestForm.show(
        request,
        prompt=viewer.mask(request.prompt),
        problem=None if request.problem is None else viewer.mask(request.problem),
        tool=None if request.call is None else request.call.name,
        arguments=arguments if arguments is None or may_answer else viewer.mask(arguments),
        form=encode(request.schema),
        role=request.required_role,
        may_answer=may_answer,
    )
