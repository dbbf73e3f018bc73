"""Errors that Tactician raises. Each says what happened, where, and what to do about it.

Errors that carry partial results are defined beside the results: `RunError` and its subclasses in `tactician.runs`,
`ProcessError` and its subclasses in `tactician.process`, `GuardrailError` in `tactician.guardrails`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tactician.frozen import frozen

MOST_PROBLEMS = 100
"""How many mistakes in documents an error lists."""


def format_lines(problems: Iterable[object]) -> str:
    """Format problems as a list that follows the colon of a message."""
    return "".join(f"\n  - {problem}" for problem in problems)


class TacticianError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(TacticianError):
    """Error for a setting, environment variable or argument that is wrong or missing."""


@frozen
class Problem:
    """Mistake in a document.

    Attributes:
        path: the path in the data, such as `handoffs[0].target.model`; empty for the whole document.
        message: the mistake, and its remedy.
        file: the file or other source, such as the id of an instance, if known.
        line: the line, from 1, if known.
    """

    path: str
    message: str
    file: str | None = None
    line: int | None = None

    def inside(self, path: str) -> Problem:
        """Return the problem with its place inside of the data at a path."""
        return replace(self, path=f"{path}.{self.path}")

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        if self.file is None and self.line is not None:
            place = f"line {self.line}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class DocumentError(ConfigurationError):
    """Error for mistakes in JSON, YAML or TOML: in a file, an environment variable, or equivalent arguments.

    Attributes:
        subject: the source of the mistakes.
        problems: the mistakes, each with its place, at most `MOST_PROBLEMS` of them.
        left_out: the number of further mistakes.
    """

    def __init__(self, subject: str, problems: Iterable[Problem], left_out: int = 0) -> None:
        listed = tuple(problems)
        self.subject = subject
        self.problems = listed[:MOST_PROBLEMS]
        self.left_out = left_out + len(listed) - len(self.problems)
        more = (f"and {self.left_out:,} more",) if self.left_out else ()
        super().__init__(f"{subject}:{format_lines((*self.problems, *more))}")


class AgentFileError(DocumentError):
    """Error for mistakes in files that describe agents. `problems` lists them, each with its file and line."""


class BlueprintError(DocumentError):
    """Error for mistakes in a blueprint, or for an object without a blueprint form. `problems` lists them."""


class MissingExtraError(ConfigurationError):
    """Error for an optional dependency that is needed and not installed."""


class UnknownModelError(ConfigurationError):
    """Error for a model that no configured provider serves."""


class DeclarationError(TacticianError):
    """Error for a wrong declaration of an agent, action or tool. `problems` lists every mistake."""

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        super().__init__(f"{subject} is not declared correctly:{format_lines(self.problems)}")


class ModelError(TacticianError):
    """Error of a call to a model.

    Attributes:
        model: the model that was called.
        status: the HTTP status, if any.
        retry_after: seconds to wait, if the provider sent them.
        is_exhausted: true when a router has used up its attempts, so that an action does not make them anew.
    """

    def __init__(
        self, message: str, *, model: str = "", status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.model = model
        self.status = status
        self.retry_after = retry_after
        self.is_exhausted = False


class ModelRequestError(ModelError):
    """Error for a request that the provider rejects (400, 413, 422); sending it again does not help."""


class AuthenticationError(ModelError):
    """Error for a key that the provider rejects (401), has no credit for (402), or does not allow this use of (403)."""


class ModelNotFoundError(ModelError):
    """Error for a model that the provider does not serve (404)."""


class RateLimitError(ModelError):
    """Error for too many requests or tokens (429); `retry_after` says how long to wait, if known."""


class ModelServerError(ModelError):
    """Error of the provider itself (5xx)."""


class ModelConnectionError(ModelError):
    """Error for a provider that cannot be reached, or a connection that broke."""


class ModelTimeoutError(ModelError):
    """Error for an answer that did not come in time."""


class MalformedResponseError(ModelError):
    """Error for an answer that does not have the provider's format."""


class ContextLengthError(ModelRequestError):
    """Error for a conversation that is longer than the model can read."""


class ThinkingRefusedError(ModelRequestError):
    """Error for earlier thinking that the provider cannot read: another account or model wrote it."""


class UnsupportedFeatureError(ModelRequestError):
    """Error for a request that needs a feature which the instance lacks; nothing was sent.

    Attributes:
        instance: the instance or provider.
        feature: the requested feature, for example `"web_search"`.
        supported: the features of the instance.
    """

    def __init__(
        self, instance: str, feature: str, supported: frozenset[str], *, model: str = "", remedy: str = ""
    ) -> None:
        self.instance = instance
        self.feature = feature
        self.supported = supported
        feature_names = ", ".join(sorted(supported)) or "none"
        super().__init__(
            f"{instance} does not support {feature} (it supports: {feature_names}). "
            + (remedy or "Ask without it, or name an instance or model that can do it."),
            model=model,
        )


class ContentFilterError(ModelError):
    """Error for a request that the provider's content filter blocked; another model may answer it."""


class RunNotFoundError(TacticianError):
    """Error for a run id that the store does not have."""


class DocumentConflictError(TacticianError):
    """Error for a document that another writer added, changed or deleted meanwhile; nothing was saved."""


class StaleVersionError(TacticianError):
    """Error for a write to a shared memory that replaces another version than the stored one; nothing was saved.

    Attributes:
        version: the stored version.
    """

    def __init__(self, message: str, version: int) -> None:
        super().__init__(message)
        self.version = version


class RunConflictError(TacticianError):
    """Error for a run whose record another writer changed, or whose lease another worker holds."""


class ConversationConflictError(TacticianError):
    """Error for a conversation that another writer changed meanwhile; nothing was saved."""


class ConversationNotFoundError(TacticianError):
    """Error for an unknown conversation id."""


class StoredStateError(TacticianError):
    """Error for stored state that cannot be read; nothing of it was used."""


class StoreError(TacticianError):
    """Error for a store that cannot be reached, is locked or full. The last write may have been saved or not."""


class ToolError(TacticianError):
    """Error that a tool raises to tell the model what went wrong, and nothing more."""


class RuleRefusedError(ToolError):
    """Error for an action, a tool call or a task that was not started, as it would break a rule.

    Attributes:
        name: the action, the tool or the task.
        rules: the rules, as they were written.
    """

    def __init__(self, message: str, name: str = "", rules: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.rules = rules


class InvalidArgumentsError(ToolError):
    """Error for arguments of a tool call that do not match the tool, which did not run."""


class MissingPromptVariable(TacticianError):  # noqa: N818 - it says what is wrong
    """Error for a `{{variable}}` in an agent's instructions that a request has no value for.

    Attributes:
        agent_id: the agent.
        variable: the name of the variable.
        provided_keys: the names for which there were values, or `None`.
    """

    def __init__(self, agent_id: str, variable: str, provided_keys: Sequence[str], argument: str = "variables") -> None:
        self.agent_id = agent_id
        self.variable = variable
        self.provided_keys = tuple(provided_keys)
        keys = ", ".join(self.provided_keys) or "none"
        super().__init__(
            f"{agent_id}: the instructions need a value for {{{{{variable}}}}}; pass {argument}={{{variable!r}: ...}} "
            f"(given: {keys})"
        )


class TemplateError(ConfigurationError):
    """Error for a template that cannot be rendered. `template` is its name."""

    def __init__(self, template: str, problem: str) -> None:
        self.template = template
        super().__init__(f"The template {template!r}: {problem}")


class MissingTemplateVariables(TemplateError):  # noqa: N818 - it says what is wrong
    """Error for values that a template needs and did not get.

    Attributes:
        variables: the names of the missing values.
        provided_keys: the names for which there were values.
    """

    def __init__(self, template: str, variables: Sequence[str], provided_keys: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self.provided_keys = tuple(provided_keys)
        needed = ", ".join(map(repr, self.variables))
        keys = ", ".join(map(repr, self.provided_keys)) or "none"
        super().__init__(template, f"it needs values for {needed} (given: {keys}); pass them by these names")


class AgentNotFoundError(TacticianError):
    """Error for a request that no registered agent can serve."""


@frozen
class Ranked:
    """Rating of how well a candidate suits a request.

    Attributes:
        confidence: from 0 to 1.
        reason: the reason, in the model's words.
    """

    name: str
    confidence: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.confidence:.2f}" + (f" ({self.reason})" if self.reason else "")


class NoAgentFitsError(AgentNotFoundError):
    """Error for a request that no agent or goal suits well enough. `ranking` has the rating of each."""

    def __init__(self, message: str, ranking: Sequence[Ranked]) -> None:
        super().__init__(message)
        self.ranking = tuple(ranking)


class TransientError(TacticianError):
    """Error that an action raises, as this class or a subclass, if a retry may succeed."""


class PermanentError(TacticianError):
    """Error that an action raises, as this class or a subclass, if a retry is useless."""


class GoalNotReachedError(PermanentError):
    """Error for a supervisor that ended without reaching a goal."""


class Replan(TacticianError):  # noqa: N818 - it asks for something
    """Exception that an action raises to make the process plan again, once without this action."""


class Rejected(PermanentError):  # noqa: N818 - it says what the answer is
    """Exception for a question of `ask_human` that a person rejected. An action may catch it.

    If the action does not, it has no result: the process plans again without it, and other actions may take the
    `Rejection` that is then on the blackboard.

    Attributes:
        prompt: the question.
        reason: the reason; may be empty.
    """

    def __init__(self, prompt: str, reason: str = "") -> None:
        super().__init__(f"{prompt!r} was rejected" + (f" ({reason})" if reason else ""))
        self.prompt = prompt
        self.reason = reason


class ResponseError(TacticianError):
    """Error for a response that does not match its request, while the process waits, or after it ended."""


class AlreadyAnsweredError(RunConflictError, ResponseError):
    """Error for an answer to a request that has one already: the first answer counts."""


class LeaseLostError(TacticianError):
    """Error for a process that another worker has taken over; this worker must not change it any more."""


class RequestRejectedError(TacticianError):
    """Error for a request that the nodes of a mesh refuse.

    Attributes:
        reason: `"at_capacity"`, `"unknown_capability"`, `"disabled"`, `"draining"`, `"invalid_input"`,
            `"not_allowed"`, `"deadline"`, `"too_large"`, `"too_many_hops"` or `"unsupported_version"`.
        queue_depth: number of requests that wait at the node, when it is at capacity.
        retry_after: seconds after which it makes sense to ask again, if known.
    """

    def __init__(
        self, message: str, reason: str, *, queue_depth: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.queue_depth = queue_depth
        self.retry_after = retry_after


class RequestFailedError(TacticianError):
    """Error for a request whose work has failed at the node that did it.

    Attributes:
        error_type: name of the class of the error there.
        request_id: id of the request.
    """

    def __init__(self, message: str, error_type: str, request_id: str = "") -> None:
        super().__init__(message)
        self.error_type = error_type
        self.request_id = request_id


class RequestTimeoutError(TacticianError):
    """Error for a request whose reply did not come in time.

    Attributes:
        ticket: ticket with which the reply can still be fetched, if the work goes on.
        partial: progress that was reported so far.
    """

    def __init__(self, message: str, ticket: object = None, partial: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.ticket = ticket
        self.partial = tuple(partial)


class MeshUnavailableError(TransientError):
    """Error for a request that no node of a mesh has accepted: none offers the work, or none answers.

    Attributes:
        reason: `"not_found"`, `"not_accepted"`, `"unreachable"` when the broker does not answer, or `"circuit_open"`.
        retry_after: seconds after which it makes sense to ask again, if known.
    """

    def __init__(self, message: str, reason: str = "not_accepted", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after
