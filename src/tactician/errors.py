"""The errors that Tactician raises. Each says what happened, where, and what to do about it.

Errors that carry what was done so far are defined with what they carry: `RunError` and its kinds in `tactician.runs`,
`ProcessError` and its kinds in `tactician.process`, `GuardrailError` in `tactician.guardrails`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_PROBLEMS = 100
"""How many mistakes in documents an error lists."""


def format_lines(problems: Iterable[object]) -> str:
    """Problems as a list, to go after the colon of a message."""
    return "".join(f"\n  - {problem}" for problem in problems)


class TacticianError(Exception):
    """The base of all errors of this package."""


class ConfigurationError(TacticianError):
    """A setting, an environment variable or an argument is wrong or missing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a document.

    Attributes:
        path: where it is in the data, such as `handoffs[0].target.model`; empty for all of it.
        message: what is wrong, and what to do.
        file: the file, or what else the mistake is in, such as the id of an instance; where it is known.
        line: the line in it, from 1, where it is known.
    """

    path: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        if self.file is None and self.line is not None:
            place = f"line {self.line}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class DocumentError(ConfigurationError):
    """JSON, YAML or TOML is wrong: a file, a text in the environment, or arguments that say the same.

    Attributes:
        subject: what is wrong.
        problems: the mistakes, each with its place, at most `MOST_PROBLEMS` of them.
        left_out: how many more there are.
    """

    def __init__(self, subject: str, problems: Iterable[Problem], left_out: int = 0) -> None:
        found = tuple(problems)
        self.subject = subject
        self.problems = found[:MOST_PROBLEMS]
        self.left_out = left_out + len(found) - len(self.problems)
        more = (f"and {self.left_out:,} more",) if self.left_out else ()
        super().__init__(f"{subject}:{format_lines((*self.problems, *more))}")


class AgentFileError(DocumentError):
    """Files that describe agents are wrong. `problems` lists the mistakes, each with its file and the place in it."""


class BlueprintError(DocumentError):
    """A blueprint is wrong, or something has no blueprint. `problems` lists the mistakes, each with its place."""


class MissingExtraError(ConfigurationError):
    """An optional dependency is needed and not installed."""


class UnknownModelError(ConfigurationError):
    """No configured provider serves the model that was asked for."""


class DeclarationError(TacticianError):
    """An agent, action or tool is declared wrongly. `problems` lists every mistake that was found."""

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        super().__init__(f"{subject} is not declared correctly:{format_lines(self.problems)}")


class ModelError(TacticianError):
    """A call to a model failed.

    Attributes:
        model: the model that was called.
        status: the HTTP status, where there was one.
        retry_after: seconds to wait, where the provider said so.
    """

    def __init__(
        self, message: str, *, model: str = "", status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.model = model
        self.status = status
        self.retry_after = retry_after


class ModelRequestError(ModelError):
    """The provider rejects the request as it is (400, 413, 422); sending it again does not help."""


class AuthenticationError(ModelError):
    """The provider rejects the key (401) or does not allow this use of it (403)."""


class ModelNotFoundError(ModelError):
    """The provider does not serve the model (404)."""


class RateLimitError(ModelError):
    """Too many requests or tokens (429); `retry_after` says how long to wait, where known."""


class ModelServerError(ModelError):
    """The provider failed (5xx)."""


class ModelConnectionError(ModelError):
    """The provider could not be reached, or broke off."""


class ModelTimeoutError(ModelError):
    """The provider did not answer in time."""


class MalformedResponseError(ModelError):
    """The provider answered something that is not its own format."""


class ContextLengthError(ModelRequestError):
    """The conversation is longer than the model can read."""


class ThinkingRefusedError(ModelRequestError):
    """The provider cannot read the thinking that an earlier answer brought: another account or model wrote it."""


class UnsupportedFeatureError(ModelRequestError):
    """A request needs what the instance cannot do; nothing was sent.

    Attributes:
        instance: the instance or provider.
        feature: what was asked for, for example `"web_search"`.
        supported: all that the instance can do.
    """

    def __init__(self, instance: str, feature: str, supported: frozenset[str], *, model: str = "") -> None:
        self.instance = instance
        self.feature = feature
        self.supported = supported
        known = ", ".join(sorted(supported)) or "none"
        super().__init__(
            f"{instance} does not support {feature} (it supports: {known}). Ask without it, or name an instance or "
            "model that can do it.",
            model=model,
        )


class ContentFilterError(ModelError):
    """The provider's content filter stopped the request; another instance or model may answer it."""


class RunNotFoundError(TacticianError):
    """No run with this id waits in the store."""


class DocumentConflictError(TacticianError):
    """Somebody else has added, changed or deleted the document in the store; nothing was saved."""


class RunConflictError(TacticianError):
    """Somebody else has changed the record of a run, or has taken the run up."""


class ConversationConflictError(TacticianError):
    """Somebody else has changed, made or deleted the conversation in the store; nothing was saved."""


class ConversationNotFoundError(TacticianError):
    """There is no conversation with this id."""


class StoredStateError(TacticianError):
    """What a store holds cannot be read; nothing of it was used."""


class StoreError(TacticianError):
    """A store does not answer: it cannot be reached, is locked or full. What was to be saved may be kept or not."""


class ToolError(TacticianError):
    """Raise this in a tool to tell the model what went wrong, and nothing more."""


class InvalidArgumentsError(ToolError):
    """The arguments of a tool call do not fit the tool; it did not run."""


class MissingPromptVariable(TacticianError):  # noqa: N818 - it says what is wrong
    """The instructions of an agent have a `{{variable}}` for which a request gives no value.

    Attributes:
        agent_id: the agent.
        variable: the name of the variable.
        provided_keys: the names for which there were values, or `None`.
    """

    def __init__(self, agent_id: str, variable: str, provided_keys: Sequence[str], argument: str = "variables") -> None:
        self.agent_id = agent_id
        self.variable = variable
        self.provided_keys = tuple(provided_keys)
        given = ", ".join(self.provided_keys) or "none"
        super().__init__(
            f"{agent_id}: the instructions need a value for {{{{{variable}}}}}; pass {argument}={{{variable!r}: ...}} "
            f"(given: {given})"
        )


class TemplateError(ConfigurationError):
    """No prompt can be made of a template. `template` is its name."""

    def __init__(self, template: str, problem: str) -> None:
        self.template = template
        super().__init__(f"The template {template!r}: {problem}")


class MissingTemplateVariables(TemplateError):  # noqa: N818 - it says what is wrong
    """A template needs values that it was not given.

    Attributes:
        variables: the names of these.
        provided_keys: the names for which there were values.
    """

    def __init__(self, template: str, variables: Sequence[str], provided_keys: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self.provided_keys = tuple(provided_keys)
        needed = ", ".join(map(repr, self.variables))
        given = ", ".join(map(repr, self.provided_keys)) or "none"
        super().__init__(template, f"it needs values for {needed} (given: {given}); pass them by these names")


class AgentNotFoundError(TacticianError):
    """No registered agent does what was asked for."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well something fits a request.

    Attributes:
        confidence: from 0 to 1.
        reason: why, in the model's words.
    """

    name: str
    confidence: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.confidence:.2f}" + (f" ({self.reason})" if self.reason else "")


class NoAgentFitsError(AgentNotFoundError):
    """No agent or goal fits a request well enough. `ranking` says how well each does."""

    def __init__(self, message: str, ranking: Sequence[Ranked]) -> None:
        super().__init__(message)
        self.ranking = tuple(ranking)


class TransientError(TacticianError):
    """Raise this, or a subclass, in an action when it may succeed if it is tried again."""


class PermanentError(TacticianError):
    """Raise this, or a subclass, in an action when trying it again is of no use."""


class GoalNotReachedError(PermanentError):
    """A supervisor came to its end without having reached a goal."""


class Replan(TacticianError):  # noqa: N818 - it asks for something
    """Raise this in an action to have the process plan again, without this action for once."""


class Rejected(PermanentError):  # noqa: N818 - it says what the answer is
    """Somebody has rejected what `ask_human` asked. An action may catch it, and do something else.

    Where it does not, it has given nothing: the process plans again without it, and others may take the `Rejection`
    that is on the blackboard then.

    Attributes:
        prompt: what was asked.
        reason: why not; may be empty.
    """

    def __init__(self, prompt: str, reason: str = "") -> None:
        super().__init__(f"{prompt!r} was rejected" + (f": {reason}" if reason else ""))
        self.prompt = prompt
        self.reason = reason


class ResponseError(TacticianError):
    """A response does not fit what was asked, and the process still waits; or it has ended."""


class LeaseLostError(TacticianError):
    """Another worker has taken the process over: this one may not change it any more."""
