"""An agent as a JSON file describes it: every field, what it means where it is left out, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from tactician.documents.data import DataPath
from tactician.documents.document import DataDocument
from tactician.documents.models import DocumentModel, validate_document
from tactician.documents.problems import Problems

SUBJECT = "The agent is not described correctly"
# Strict, because "15" where 15 is meant is a mistake that will cost somebody an afternoon elsewhere.
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Positive: TypeAlias = Annotated[int, Field(strict=True, gt=0)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
Name: TypeAlias = Annotated[str, Field(min_length=1)]


class _Entry(DocumentModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")
    cutoff = 0.85
    refuses_misspelled = True


class FunctionEntry(_Entry):
    """A function that an agent may call."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str
    parameters: dict[str, JsonValue] | None = None
    parameter_class: Name | None = None
    ends_turn: Flag = False
    group: str | None = None
    executor_class: Name | None = None
    method_class: Name | None = None
    method_name: Name | None = None


class RetryEntry(_Entry):
    """Retries of failed steps, in place of the retries of the router's policy."""

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
    temperature: Annotated[float, Field(strict=True, ge=0, le=2)] | None = None
    web_search: Flag = False
    code_interpreter: Flag = False
    functions: tuple[FunctionEntry, ...] = ()
    response_timeout: Positive | None = None
    max_tokens: Positive | None = None
    result_class: Name | None = None
    autonomous: Flag = False
    max_iterations: Positive = 25
    max_iterations_unlimited: Flag = False
    max_tool_token_output: Positive | None = None
    end_turn_on_plain_reply: Flag = False
    enabled_tool_groups: tuple[str, ...] | None = None
    compact_tool_results_after_iteration: Count | None = None
    compact_keep_last_n_iterations: Positive = 1
    max_conversation_tokens: Positive | None = None
    min_iteration_interval_ms: Count | None = None
    infinite_loop: Flag = False
    disable_task_over: Flag = False
    reasoning_effort: Literal["low", "medium", "high", "enabled", "none"] | None = None
    instances: tuple[Name, ...] = ()
    instance_id: Name | None = None
    retry_config: RetryEntry = RetryEntry()


def read_entry(document: DataDocument) -> AgentEntry:
    """Return the agent that a document describes.

    Raises:
        DocumentError: with the mistakes in it.
    """
    entry = validate_document(document, AgentEntry.model_validate, SUBJECT)
    problems = Problems(document)
    problems.add_all(_find_contradictions(entry))
    problems.check(SUBJECT)
    return entry


def _find_contradictions(entry: AgentEntry) -> Iterator[tuple[DataPath, str]]:
    names = [function.name for function in entry.functions]
    for place, function in enumerate(entry.functions):
        path = ("functions", place)
        if function.name in names[:place]:
            yield (*path, "name"), f"{function.name!r} is used twice"
        if (function.method_class is None) != (function.method_name is None):
            yield path, "methodClass and methodName go together"
        kind = (function.parameters or {}).get("type", "object")
        if function.parameter_class is None and kind != "object":
            yield (*path, "parameters"), f"the schema of arguments has the type 'object', not {kind!r}"
