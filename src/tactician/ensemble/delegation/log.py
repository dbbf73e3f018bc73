"""Log of the delegations of a run of an ensemble, which a resumed run reads again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypeForm

from tactician.data_fields import list_data_fields
from tactician.documents.forms import form_of
from tactician.ensemble.values.delegation import (
    DelegationRequest,
    DelegationResponse,
    DelegationStatus,
)
from tactician.ensemble.values.output_encoding import OutputCodec
from tactician.ensemble.values.task_output import TaskOutput
from tactician.errors import ConfigurationError, StoredStateError
from tactician.frozen import frozen
from tactician.loop import output_type
from tactician.runs import RunContext
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.runs.values.stored_values import encode_value

Types: TypeAlias = Mapping[str, type[object]]


@frozen
class DelegationEntry:
    """Delegation in the log.

    Attributes:
        number: its place in the log, from 1.
        request: the request, as it was allowed or refused.
        delegator: the role of the agent that delegates.
        began: the time of the request, in seconds since the epoch.
        task_id: the id of its output; empty when it was not allowed.
        output: the output, or `None`.
        response: the response, without the output, or `None`.
    """

    number: int
    request: DelegationRequest
    delegator: str
    began: float
    task_id: str = ""
    output: TaskOutput | None = None
    response: DelegationResponse | None = None

    @property
    def is_allowed(self) -> bool:
        """True when the delegation was allowed."""
        return bool(self.task_id)


class DelegationLog:
    """Delegations of a run of an ensemble, kept in its checkpoint.

    Args:
        context: the context of the run of the ensemble.
        types: the output types that a delegation may ask for, by their names.
        kinds: the output types of the workers, by role.
    """

    __slots__ = ("_checkpoint", "_entries", "_kinds", "_types")

    def __init__(self, context: RunContext, types: Types, kinds: Mapping[str, TypeForm[object] | None]) -> None:
        assert context.checkpoint is not None
        self._checkpoint = context.checkpoint.at("delegations")
        self._types = types
        self._kinds = kinds
        saved = (self._restore(place) for place in self._checkpoint.walk() if place is not self._checkpoint)
        self._entries = {entry.number: entry for entry in sorted(saved, key=lambda entry: entry.number)}

    @property
    def responses(self) -> tuple[DelegationResponse, ...]:
        """The responses so far, in the order of the requests."""
        return tuple(entry.response for entry in self._entries.values() if entry.response is not None)

    def list_allowed(self, delegator: str) -> list[DelegationEntry]:
        """Return the delegations of an agent that were allowed, in their order."""
        return [entry for entry in self._entries.values() if entry.is_allowed and entry.delegator == delegator]

    def list_completed(self, delegator: str) -> list[DelegationEntry]:
        """Return the delegations of an agent that have an output, in their order."""
        return [entry for entry in self.list_allowed(delegator) if entry.output is not None]

    def find(self, call: RunContext) -> DelegationEntry | None:
        """Return the delegation of a tool call that began before a suspension; `None` for a new call."""
        number = None if call.checkpoint is None else call.checkpoint.data.get("delegation")
        return self._entries.get(number) if isinstance(number, int) else None

    def add(self, request: DelegationRequest, delegator: str, call: RunContext, *, is_allowed: bool) -> DelegationEntry:
        """Add the delegation of a tool call, and return it.

        Raises:
            ConfigurationError: when the run is saved, and the request cannot be.
        """
        number = len(self._entries) + 1
        task_id = self._choose_id(request.role) if is_allowed else ""
        entry = DelegationEntry(number, request, delegator, call.clock.time(), task_id)
        try:
            live = Live.create(request, partial(encode_request, types=self._types), is_saved=self._is_saved)
        except StoredStateError as error:
            raise ConfigurationError(str(error)) from error
        self._entries[number] = entry
        place = self._checkpoint.at(str(number))
        place.set(request=live, delegator=delegator, began=entry.began, task_id=task_id)
        if call.checkpoint is not None:
            call.checkpoint.set(delegation=number)
        return entry

    def end(self, entry: DelegationEntry, response: DelegationResponse, output: TaskOutput | None = None) -> None:
        """Set the response of a delegation, and its output; the step of the tool call saves them."""
        self._entries[entry.number] = replace(entry, output=output, response=response)
        place = self._checkpoint.at(str(entry.number))
        if output is not None:
            # the delegating agent reads the text
            encode = OutputCodec(self._find_kind(entry.request)).encode_beside_run
            place.set(output=Live.create(output, encode, is_saved=self._is_saved))
        place.set(response=Live.create(response, _encode_response, is_saved=self._is_saved))

    @property
    def _is_saved(self) -> bool:
        return self._checkpoint.journal is not None

    def _choose_id(self, role: str) -> str:
        number = 1 + sum(entry.is_allowed and entry.request.role == role for entry in self._entries.values())
        return role if number == 1 else f"{role}#{number}"

    def _find_kind(self, request: DelegationRequest) -> object:
        return request.output_type or self._kinds.get(request.role) or object

    def _restore(self, place: Checkpoint) -> DelegationEntry:
        data = place.data
        request = revive(data.get("request"), partial(decode_request, types=self._types))
        output, response = data.get("output"), data.get("response")
        restored_output = None if output is None else revive(output, OutputCodec(self._find_kind(request)).decode)
        ended = (
            None
            if response is None
            else revive(response, partial(_decode_response, request=request, output=restored_output))
        )
        began = data.get("began")
        return DelegationEntry(
            int(place.keys[-1]),
            request,
            str(data.get("delegator")),
            began if isinstance(began, float) else 0.0,
            str(data.get("task_id")),
            restored_output,
            ended,
        )


@form_of(DelegationRequest)
class _SavedRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str
    output_type: str | None


class _SavedResponse(BaseModel):
    model_config = ConfigDict(extra="forbid")
    status: DelegationStatus
    artifacts: dict[str, JsonValue]
    errors: tuple[str, ...]
    duration: float


def encode_request(request: DelegationRequest, types: Types) -> object:
    """Return a request as JSON; its output type is among those that a delegation may ask for by their names.

    Raises:
        StoredStateError: when its output type is another type, or its scope or metadata have no JSON form.
    """
    kind = request.output_type
    name = None if kind is None else output_type(kind).name
    if name is not None and types.get(name) is not kind:
        problem = f"delegation to {request.role!r}: its output type {name} cannot be stored"
        raise StoredStateError(f"{problem}: add it to Delegation(output_types=[...])")
    values = {field.name: getattr(request, field.name) for field in list_data_fields(DelegationRequest)}
    mappings = {field: encode_value(dict(values[field])) for field in ("scope", "metadata")}
    return {**values, **mappings, "priority": request.priority.value, "output_type": name}


def decode_request(saved: object, types: Types) -> DelegationRequest:
    """Return the request that `encode_request` wrote.

    Raises:
        ValidationError: when it is not the JSON form of a request.
        StoredStateError: when its output type is not known here.
    """
    saved_request = _SavedRequest.model_validate(saved)
    if saved_request.output_type is not None and saved_request.output_type not in types:
        raise StoredStateError(
            f"the delegation to {dict(saved_request)['role']!r} has an unknown output type "
            f"{saved_request.output_type!r}: add it to Delegation(output_types=[...])"
        )
    values: dict[str, Any] = dict(saved_request)
    return DelegationRequest(
        **{**values, "output_type": saved_request.output_type and types[saved_request.output_type]}
    )


def _encode_response(response: DelegationResponse) -> object:
    """Return what a response has beside its request and its output, as JSON."""
    saved_response = _SavedResponse(
        status=response.status,
        artifacts=cast("dict[str, JsonValue]", dict(response.artifacts)),
        errors=response.errors,
        duration=response.duration,
    )
    return saved_response.model_dump(mode="json")


def _decode_response(saved: object, request: DelegationRequest, output: TaskOutput | None) -> DelegationResponse:
    saved_response = _SavedResponse.model_validate(saved)
    return create_response(
        request,
        saved_response.status,
        output,
        saved_response.duration,
        artifacts=saved_response.artifacts,
        errors=saved_response.errors,
    )


def create_response(
    request: DelegationRequest,
    status: DelegationStatus,
    output: TaskOutput | None,
    duration: float,
    *,
    artifacts: Mapping[str, object] | None = None,
    errors: Iterable[str] = (),
) -> DelegationResponse:
    """Return the response to a request."""
    return DelegationResponse(
        request.id,
        status,
        request.role,
        None if output is None else output.raw,
        None if output is None else output.parsed,
        {} if artifacts is None else artifacts,
        tuple(errors),
        request.metadata,
        duration,
    )
