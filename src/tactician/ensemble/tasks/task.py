"""`Task`: work for an agent or a function, with a description of the expected output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, cast, overload, runtime_checkable

from typing_extensions import TypedDict, TypeForm, TypeVar, Unpack

from tactician.agents.planned.specs import as_runnable
from tactician.amounts import Count, Positive, Text
from tactician.ensemble.learning.reflection import Reflection
from tactician.ensemble.reviews.review import Review
from tactician.ensemble.values.argument_kinds import COUNT, LIST, TEXT, TEXTS, as_list, list_problems, replace_strangers
from tactician.ensemble.values.errors import EnsembleDefinitionError
from tactician.ensemble.values.outcomes import OutputPredicate
from tactician.ensemble.values.task_input import TaskInput
from tactician.errors import DeclarationError
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.decorators import as_input_guardrail, as_output_guardrail
from tactician.llm import LanguageModel, LlmOptions, ModelLike
from tactician.loop import output_type
from tactician.loop.policy import Guards
from tactician.runs import Runnable
from tactician.suggestions import suggest_options
from tactician.tools.toolbox import Toolbox, ToolLike

T_co = TypeVar("T_co", covariant=True, default=object)
DEFAULT_MAX_TOOL_CALLS: Final = 25
_LONGEST_LABEL: Final = 60
_AGENT_PARTS = ("role", "goal", "background")
_KINDS: Final = {
    "description": TEXT.or_none(),  # `None` is reported as a blank description
    "id": TEXT.or_none(),
    "expected_output": TEXT,
    **dict.fromkeys(_AGENT_PARTS, TEXT.or_none()),
    "context": LIST.or_none(),
    "max_output_retries": COUNT,
    "tools": LIST,
    "max_tool_calls": COUNT,
    "max_tool_output_chars": COUNT.or_none(),
    "input_guardrails": LIST,
    "output_guardrails": LIST,
}


Handler: TypeAlias = Callable[[TaskInput], object | Awaitable[object]]
"""Function that does a task without a model. Its result is the output of the task."""


@runtime_checkable
class TaskLike(Protocol[T_co]):
    """Part of an ensemble: a task, or a group in place of a task, such as a loop of tasks or another ensemble."""

    def as_task(self) -> Task[T_co]:
        """Return it as a task."""
        ...


class TaskSettings(TypedDict, total=False):
    """Arguments of a `Task` besides its description and its output type; see there."""

    id: str
    expected_output: str
    agent: object | None
    role: str | None
    goal: str | None
    background: str | None
    context: Sequence[TaskLike] | None
    max_output_retries: int
    tools: Sequence[ToolLike]
    model: ModelLike | None
    handler: Handler | None
    max_tool_calls: int
    max_tool_output_chars: int | None
    input_guardrails: Sequence[GuardrailLike]
    output_guardrails: Sequence[GuardrailLike]
    when: OutputPredicate | None
    memory: Sequence[str]
    reflect: bool | Reflection
    review: Review | Sequence[Review] | None


@suggest_options
@dataclass(frozen=True, eq=False)
class Task(Generic[T_co]):
    """Work of an ensemble, done by an agent or by a function.

    Templates, `{name}` in the description and in the expected output, are filled in by the run. `{{name}}` stands for
    the text `{name}`. A task holds no state of a run, and may be the context of several others.

    A task with `output_type=City` is a `Task[City]`; without an output type its output may be any object.

    Args:
        description: the work.
        id: name by which outputs and errors refer to the task, unique in the ensemble; the description by default.
        expected_output: description of the output, for the agent.
        agent: any Runnable that does the task; by default an agent is made for the task, with a role that follows from
            the first verb of the description.
        role, goal, background: instructions of the agent that is made.
        context: tasks, loops and the like whose outputs the agent sees; they run before. By default, in a sequence the
            task before, and else none; with `[]` none.
        output_type: the type of the output, as any that pydantic can describe; text by default.
        max_output_retries: number of further attempts of an agent at a valid output.
        tools: tools beside the agent's; for the same name, the agent's counts.
        model: the model for an agent without a model.
        handler: sync or async function that does the task without a model.
        max_tool_calls: number of tool calls of an agent that has no such limit of its own. After them it must answer.
        max_tool_output_chars: number of characters of a tool's result that the model of an agent without such a limit
            sees; events have the whole result. No limit by default.
        input_guardrails: checks of the text that the agent is about to read; see `guardrails`.
        output_guardrails: checks of the output, also of a handler's. A check that asks for a retry leads to another
            attempt, `max_output_retries` times at most.
        when: sync or async function of the outputs so far; the task is skipped when it returns `False`. A task whose
            context tasks were all skipped is skipped too. A task without a context runs in a sequence anyway, and sees
            what the skipped task would have seen.
        memory: scopes of the ensemble's memory, whose entries the agent reads, and to which the output is added.
        reflect: true to improve the instructions for later runs by reflection on the output, or settings for it.
        review: the gate at which somebody decides before or after the task, or several; see `Review`. The policy of
            the ensemble counts for a task that names none after it.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    description: str
    _: KW_ONLY
    id: str = ""
    expected_output: str = ""
    agent: object | None = None
    role: str | None = None
    goal: str | None = None
    background: str | None = None
    context: Sequence[TaskLike] | None = None
    output_type: TypeForm[T_co] | None = None
    max_output_retries: Count = 3
    tools: Sequence[ToolLike] = ()
    model: ModelLike | None = None
    handler: Handler | None = None
    max_tool_calls: Positive = DEFAULT_MAX_TOOL_CALLS
    max_tool_output_chars: Positive | None = None
    input_guardrails: Sequence[GuardrailLike] = ()
    output_guardrails: Sequence[GuardrailLike] = ()
    when: OutputPredicate | None = None
    memory: Sequence[Text] = ()
    reflect: bool | Reflection = False
    review: Review | Sequence[Review] | None = None

    if TYPE_CHECKING:  # by the `__init__` of a dataclass, checkers cannot tell a union such as `City | None`

        @overload
        def __init__(self, description: str, *, output_type: None = None, **settings: Unpack[TaskSettings]) -> None: ...

        @overload
        def __init__(
            self, description: str, *, output_type: TypeForm[T_co], **settings: Unpack[TaskSettings]
        ) -> None: ...

        def __init__(
            self, description: str, *, output_type: TypeForm[T_co] | None = None, **settings: Unpack[TaskSettings]
        ) -> None: ...

    def __post_init__(self) -> None:
        set_field = partial(object.__setattr__, self)
        set_field("context", None if self.context is None else as_tasks(self.context))
        for part in ("tools", "input_guardrails", "output_guardrails"):
            set_field(part, as_list(getattr(self, part)))
        set_field("memory", as_list(self.memory))
        strangers = [*replace_strangers(self, _KINDS)]
        set_field("id", self.id or self.description)
        if problems := list_problems(strangers, _find_mistakes(self)):
            raise EnsembleDefinitionError(f"Task {self.label!r}", problems)

    @cached_property
    def runnable(self) -> Runnable | None:
        """The agent as a Runnable; `None` without an agent."""
        return as_runnable(self.agent)

    @cached_property
    def reviews(self) -> tuple[Review, ...]:
        """The gates that the task names."""
        if self.review is None:
            return ()
        return (self.review,) if isinstance(self.review, Review) else tuple(self.review)

    @cached_property
    def guards(self) -> Guards:
        """The guardrails of the input and of the output."""
        return Guards.of(self.input_guardrails, self.output_guardrails, (), ())

    @cached_property
    def named_context(self) -> tuple[Task, ...]:
        """The tasks in its context; empty when it names no tasks."""
        return as_tasks(self.context or ())

    @cached_property
    def reflection(self) -> Reflection | None:
        """The settings of the reflection; `None` without reflection."""
        if isinstance(self.reflect, Reflection):
            return self.reflect
        return Reflection() if self.reflect else None

    @property
    def learns(self) -> bool:
        """True for a task with memory scopes or reflection."""
        return bool(self.memory) or self.reflection is not None

    @cached_property
    def identity(self) -> str:
        """The name by which reflections are stored: the declared id, else a hash of the description as written.

        Tasks with the same description share their reflections.
        """
        if self.id != self.description:
            return self.id
        return sha256(self.description.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def label(self) -> str:
        """The id, shortened for messages."""
        return shorten(str(self.id))

    def as_task(self) -> Task[T_co]:
        """Return the task itself."""
        return self


def as_tasks(parts: Iterable[object]) -> tuple[Task, ...]:
    """Return parts of an ensemble as tasks. What is no task or no list stays, for a message about it."""
    listed = as_list(parts)
    if not isinstance(listed, tuple):
        return listed
    return cast("tuple[Task, ...]", tuple([part.as_task() if isinstance(part, TaskLike) else part for part in listed]))


def shorten(text: str) -> str:
    """Return the first line of a text in at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LABEL else f"{line[: _LONGEST_LABEL - 1]}…"


def _find_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each mistake that the task shows alone."""
    if not str(task.description or "").strip():
        yield "description", "it must not be blank: describe the task"
    elif not task.id.strip():
        yield "id", "it must not be blank: leave it out for the description"
    if task.expected_output and not task.expected_output.strip():
        yield "expected_output", "it must not be blank: describe the output, or leave it out"
    yield from _find_agent_mistakes(task)
    seen: set[str] = set()
    for place, other in enumerate(task.named_context):
        if not isinstance(other, Task):
            yield f"context[{place}]", f"{other!r} is not a Task: pass the task whose output is needed"
        elif other.id == task.id:
            yield f"context[{place}]", "a task cannot reference itself in its context"
        elif other.id in seen:
            yield f"context[{place}]", f"it names the task {other.label!r} twice"
        seen.add(getattr(other, "id", ""))
    yield from _find_output_mistakes(task)
    yield from _find_tool_mistakes(task)
    if task.max_tool_calls < 1:
        yield "max_tool_calls", f"it must be > 0, got: {task.max_tool_calls}"
    if task.max_tool_output_chars is not None and task.max_tool_output_chars < 1:
        yield "max_tool_output_chars", f"it must be > 0, got: {task.max_tool_output_chars}"
    yield from _find_function_mistakes(task)


def _find_function_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    if task.handler is not None and not callable(task.handler):
        yield "handler", f"{task.handler!r} is not a function of a TaskInput"
    if task.when is not None and not callable(task.when):
        yield "when", f"{task.when!r} is not a function of the outputs so far"
    yield from _find_review_mistakes(task)
    for place in ("input_guardrails", "output_guardrails"):
        for number, guardrail in enumerate(getattr(task, place)):
            try:
                as_input_guardrail(guardrail) if place == "input_guardrails" else as_output_guardrail(guardrail)
            except DeclarationError as error:
                yield from ((f"{place}[{number}]", problem) for problem in error.problems)
    yield from _find_learning_mistakes(task)


def _find_learning_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    if isinstance(task.memory, str):
        yield "memory", f"it is a list of scopes: write memory=({task.memory!r},)"
    elif not TEXTS.accepts(task.memory):
        yield "memory", f"{task.memory!r} is not {TEXTS.meaning}"
    elif len(set(task.memory)) < len(task.memory):
        yield "memory", "it names a scope twice"
    if not isinstance(task.reflect, bool | Reflection):
        yield "reflect", f"{task.reflect!r} is neither True nor a Reflection"


def _find_review_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    named: object = task.review
    reviews = list(named) if isinstance(named, Sequence) else [] if named is None else [named]
    timings = [review.timing for review in reviews if isinstance(review, Review)]
    if len(timings) < len(reviews):
        yield "review", f"{task.review!r} is not a Review: use Review.before(), Review.after() or Review.skip()"
    for timing in sorted({timing for timing in timings if timings.count(timing) > 1}):
        yield "review", f"it has {timings.count(timing)} reviews of the kind {timing!r}: leave one"
    if {"after", "skip"} <= set(timings):
        yield "review", "it has a review after the task, and skips it: leave out one of them"


def _find_agent_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    if task.model is not None and not isinstance(task.model, str | LlmOptions | LanguageModel):
        yield "model", f"{task.model!r} is not the name of a model, LlmOptions or a model"
    if task.agent is not None and task.runnable is None:
        yield "agent", f"{task.agent!r} is not an agent: pass an Agent or another Runnable"
    if task.agent is not None and task.handler is not None:
        yield "handler", "the task has an agent too: leave out one of them"
    for part in _AGENT_PARTS:
        text: str | None = getattr(task, part)
        if text is None:
            continue
        if not text.strip():
            yield part, "it must not be blank: write it, or leave it out"
        if task.agent is not None or task.handler is not None:
            yield part, "it is part of the agent that is made for a task; this task has an agent or a handler"


def _find_tool_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    mistakes = 0
    for number, item in enumerate(task.tools):
        try:
            Toolbox((item,))
        except DeclarationError as error:
            mistakes += 1
            yield f"tools[{number}]", f"{type(item).__name__}: {'; '.join(error.problems)}"
    try:
        Toolbox(() if mistakes else task.tools)
    except DeclarationError as error:
        yield from (("tools", problem) for problem in error.problems)


def _find_output_mistakes(task: Task) -> Iterator[tuple[str, str]]:
    if task.max_output_retries < 0:
        yield "max_output_retries", f"it must be >= 0, got: {task.max_output_retries}"
    if task.output_type is None:
        return
    if isinstance(task.output_type, FunctionType):
        yield "output_type", "it is a function, not a type"
        return
    try:
        output_type(task.output_type)
    except Exception as error:  # also of pydantic, which takes a text for an annotation
        reason = error.problems[0] if isinstance(error, DeclarationError) else str(error).partition("\n")[0]
        yield "output_type", f"pydantic cannot describe {task.output_type!r}: {reason}"
