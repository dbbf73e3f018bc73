"""Capabilities that a node offers: Runnables as tasks, functions and tools as tools."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NotRequired, Protocol, cast

import pydantic
from pydantic import JsonValue
from typing_extensions import TypedDict

from tactician.agents import BaseRunnable
from tactician.agents.planned.specs import as_runnable
from tactician.errors import ConfigurationError
from tactician.mesh.hops import MeshHops
from tactician.mesh.messages.bounds import JsonObject
from tactician.mesh.messages.cards import CapabilityCard, CapabilityKind
from tactician.runs import Input, RunContext, RunResult
from tactician.tools import Tool, as_tool
from tactician.tools.function import describe_validation_error
from tactician.tools.tool import as_text

_MOST_PLACES: Final = 20


@dataclass(eq=False, slots=True, kw_only=True)
class Offer:
    """Capability of a node.

    Attributes:
        name: its name.
        kind: `"task"` or `"tool"`.
        work: the Runnable or the tool.
        description: its purpose.
        tags: words to find it by.
        allow: names of the nodes and clients that may ask for it; `None` for all.
        version: its version.
        max_concurrent: number of requests for it that the node works on at once; as many as the node, when `None`.
        is_idempotent: true when doing the work twice does no harm.
        is_enabled: false while it takes no requests.
        is_public: false for work that only the node itself begins, by a schedule or an event of a topic.
    """

    name: str
    kind: CapabilityKind
    work: BaseRunnable[object] | Tool
    description: str
    tags: tuple[str, ...] = ()
    allow: frozenset[str] | None = None
    version: str | None = None
    max_concurrent: int | None = None
    is_idempotent: bool = False
    is_enabled: bool = True
    is_public: bool = True
    _input: pydantic.TypeAdapter[object] | None = field(default=None, init=False)
    input_schema: JsonObject | None = field(default=None, init=False)
    output_schema: JsonObject | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.work, Tool):
            self.input_schema = cast("JsonObject", dict(self.work.spec.parameters))
            self.output_schema = cast("JsonObject | None", self.work.output_schema)
            return
        types = [kind for kind in self.work.input_types.types if kind is not str]
        if types:
            self._input = pydantic.TypeAdapter(cast("type[object]", types[0]))
            self.input_schema = cast("JsonObject", self._input.json_schema())
        if (kind := self.work.output_type) not in (None, str):
            self.output_schema = cast("JsonObject", pydantic.TypeAdapter(cast("type[object]", kind)).json_schema())

    @classmethod
    def of(
        cls,
        work: object,
        *,
        name: str | None = None,
        tags: Collection[str] = (),
        allow: Collection[str] | None = None,
        version: str | None = None,
        max_concurrent: int | None = None,
        idempotent: bool = False,
        is_public: bool = True,
    ) -> Offer:
        """Return the offer of a Runnable, a tool or a function.

        Raises:
            DeclarationError: when it is none of these, or is not declared correctly.
        """
        is_tool = isinstance(work, Tool) or (callable(work) and not isinstance(work, BaseRunnable) and not _runs(work))
        offered = as_tool(cast("Tool", work)) if is_tool else _require_runnable(work)
        return cls(
            name=name or offered.name,
            kind="tool" if is_tool else "task",
            work=offered,
            description=offered.description,
            tags=tuple(sorted(tags)),
            allow=None if allow is None else frozenset(allow),
            version=version,
            max_concurrent=max_concurrent,
            is_idempotent=idempotent,
            is_public=is_public,
        )

    def card(self, *, is_enabled: bool, price: float | None = None) -> CapabilityCard:
        """Return the card of the capability, with the US dollars that a request costs."""
        return CapabilityCard(
            name=self.name,
            kind=self.kind,
            description=self.description[:2000],
            tags=self.tags,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            version=self.version,
            is_enabled=is_enabled,
            is_idempotent=self.is_idempotent,
            price=price,
        )

    def find_problems(self, value: JsonValue) -> tuple[str, ...]:
        """Return the places of an input that are wrong; text is right for every task."""
        if isinstance(self.work, Tool):
            return () if isinstance(value, dict) else ("A tool takes its arguments as a JSON object.",)
        if self._input is None or not isinstance(value, dict | list):
            return ()
        try:
            self._input.validate_python(value)
        except pydantic.ValidationError as error:
            return tuple(describe_validation_error(error).split("; ")[:_MOST_PLACES])
        return ()

    async def run(self, value: JsonValue, context: RunContext) -> RunResult[object]:
        """Do the work inside the run of a request."""
        if not isinstance(self.work, Tool):
            # Typed input arrives as JSON, and becomes the object that the Runnable takes.
            is_typed = self._input is not None and isinstance(value, dict | list)
            work_input = self._input.validate_python(value) if is_typed and self._input is not None else value
            return await self.work.run(work_input, context=context)
        answer = await self.work.for_scripts().call(json.dumps(value), context)
        text = answer if isinstance(answer, str) else answer.text
        return RunResult(self._read_output(text), tally=context.tally, run_id=context.run_id)

    def _read_output(self, text: str) -> JsonValue:
        if self.output_schema is None or self.output_schema.get("type") == "string":
            return text
        try:
            return cast("JsonValue", json.loads(text))
        except ValueError:
            return text


class OfferedInput(TypedDict):
    """Input of the run of a request."""

    key: str
    id: str
    sender: str
    hops: list[str]
    input: JsonValue
    reply_to: NotRequired[str | None]


_OfferedInput: Final = pydantic.TypeAdapter(OfferedInput)


class RequestWatcher(Protocol):
    """Watcher of the work on requests."""

    def note_start(self, request: OfferedInput, capability: str, context: RunContext) -> RunContext:
        """Note that the work on a request begins or continues, and return the context of the work."""
        ...

    def note_failure(self, run_key: str, error: Exception) -> None:
        """Note the error with which the work on a request has failed."""
        ...


class OfferedRunnable(BaseRunnable[object]):
    """Offer as the platform runs it for a request. Its input is JSON: the input of the request, and its origin.

    Args:
        node: name of the node.
        offer: the offer.
        watcher: hears of the work.
    """

    def __init__(self, node: str, offer: Offer, watcher: RequestWatcher) -> None:
        self.name = f"{node}/{offer.name}"
        self.description = offer.description
        self.offer = offer
        self._node = node
        self._watcher = watcher

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        request = _OfferedInput.validate_python(input)
        work = self._watcher.note_start(request, self.offer.name, context)
        hops = MeshHops((*request["hops"], self._node))
        try:
            result = await self.offer.run(request["input"], work.inside({MeshHops: hops}))
            output = result.output if isinstance(result.output, str) else _to_json(result.output)
        except Exception as error:
            self._watcher.note_failure(request["key"], error)
            raise
        return RunResult(output, tally=context.tally, run_id=context.run_id)


def _to_json(value: object) -> JsonValue:
    return cast("JsonValue", json.loads(as_text(value))) if value is not None else None


def _runs(value: object) -> bool:
    return hasattr(value, "run") and hasattr(value, "name")


def _require_runnable(work: object) -> BaseRunnable[object]:
    offered = as_runnable(work)
    if not isinstance(offered, BaseRunnable):
        raise ConfigurationError(f"{work!r} cannot be offered: pass a Runnable, a tool or a function")
    return offered
