"""An agent as a JSON file describes it: every field, what it means where it is left out, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json

from tactician.suggestions import closest_spelling

_CLOSE = 0.85
Positive: TypeAlias = Annotated[int, Field(gt=0)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Name: TypeAlias = Annotated[str, Field(min_length=1)]


class _Entry(BaseModel):
    # `strict`, because "15" where 15 is meant is a mistake that will cost somebody an afternoon elsewhere.
    model_config = ConfigDict(alias_generator=to_camel, strict=True, frozen=True, extra="ignore", allow_inf_nan=False)


class FunctionEntry(_Entry):
    """A function that an agent may call."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str
    parameters: dict[str, JsonValue] | None = None
    parameter_class: Name | None = None
    ends_turn: bool = False
    group: str | None = None
    executor_class: Name | None = None
    method_class: Name | None = None
    method_name: Name | None = None


class RetryEntry(_Entry):
    """How often what fails is tried again. How often a model is called is for the router to say, for all agents."""

    network_retries: Count | None = None
    max_token_retries: Count | None = None
    content_filter_retries: Count | None = None
    deserialization_retries: Count | None = None
    max_iteration_retries: Count | None = None


class AgentEntry(_Entry):
    """An agent. Times are in milliseconds."""

    id: Name
    name: Name
    model: Name
    description: str | None = None
    instructions: str = ""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    web_search: bool = False
    code_interpreter: bool = False
    functions: tuple[FunctionEntry, ...] = ()
    response_timeout: Positive | None = None
    max_tokens: Positive | None = None
    result_class: Name | None = None
    autonomous: bool = False
    max_iterations: Positive = 25
    max_iterations_unlimited: bool = False
    max_tool_token_output: Positive | None = None
    end_turn_on_plain_reply: bool = False
    enabled_tool_groups: tuple[str, ...] | None = None
    compact_tool_results_after_iteration: Count | None = None
    compact_keep_last_n_iterations: Positive = 1
    max_conversation_tokens: Positive | None = None
    min_iteration_interval_ms: Count | None = None
    infinite_loop: bool = False
    disable_task_over: bool = False
    reasoning_effort: Literal["low", "medium", "high", "enabled", "none"] | None = None
    instances: tuple[Name, ...] = ()
    instance_id: Name | None = None
    retry_config: RetryEntry = RetryEntry()


class EntryProblems(Exception):  # noqa: N818 - it says what there is
    """What is wrong with a file: each with its place in the JSON."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read_entry(text: str | bytes) -> AgentEntry:
    """The agent that a file describes.

    `null` is the same as nothing. Unknown fields are ignored, except those that look like a known one written wrongly.

    Raises:
        EntryProblems: with every mistake.
    """
    try:
        raw: object = from_json(text)
    except ValueError as error:
        raise EntryProblems([f"it is not JSON: {error}"]) from error
    if not isinstance(raw, dict):
        raise EntryProblems(["it is not a JSON object"])
    problems = list(_misspelled(raw))
    try:
        entry = AgentEntry.model_validate_json(to_json(_without_nulls(raw)))
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        raise EntryProblems(problems + [f"{_place(one['loc'])}: {one['msg']}" for one in told]) from error
    problems += _contradictions(entry)
    if problems:
        raise EntryProblems(problems)
    return entry


def _without_nulls(raw: Mapping[str, object]) -> dict[str, object]:
    """The fields that say something. A schema keeps its nulls: there they mean something."""
    cleaned = {name: value for name, value in raw.items() if value is not None}
    if isinstance(functions := cleaned.get("functions"), list):
        cleaned["functions"] = [_without_nulls(one) if isinstance(one, dict) else one for one in functions]
    if isinstance(retries := cleaned.get("retryConfig"), dict):
        cleaned["retryConfig"] = _without_nulls(retries)
    return cleaned


def _misspelled(raw: Mapping[str, object]) -> Iterator[str]:
    yield from _misspelled_in(raw, AgentEntry, "")
    functions, retries = raw.get("functions"), raw.get("retryConfig")
    for place, function in enumerate(functions if isinstance(functions, list) else ()):
        if isinstance(function, dict):
            yield from _misspelled_in(function, FunctionEntry, f"functions[{place}].")
    if isinstance(retries, dict):
        yield from _misspelled_in(retries, RetryEntry, "retryConfig.")


def _misspelled_in(raw: Mapping[str, object], kind: type[_Entry], place: str) -> Iterator[str]:
    known = {field.validation_alias for field in kind.model_fields.values() if isinstance(field.validation_alias, str)}
    for name in raw:
        if name not in known and (meant := closest_spelling(name, known, _CLOSE)) is not None:
            yield f"{place}{name}: there is no such field; did you mean {meant!r}?"


def _contradictions(entry: AgentEntry) -> Iterator[str]:
    names = [function.name for function in entry.functions]
    for place, function in enumerate(entry.functions):
        if function.name in names[:place]:
            yield f"functions[{place}].name: {function.name!r} is used twice"
        if (function.method_class is None) != (function.method_name is None):
            yield f"functions[{place}]: methodClass and methodName go together"
        kind = (function.parameters or {}).get("type", "object")
        if function.parameter_class is None and kind != "object":
            yield f"functions[{place}].parameters: the schema of arguments has the type 'object', not {kind!r}"


def _place(path: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
