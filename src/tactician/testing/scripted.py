"""`ScriptedModel`: a model that answers from a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TypeAlias

from pydantic_core import to_json

from tactician.ai import Ai
from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, Usage
from tactician.llm import ToolCall as CalledTool
from tactician.llm.model import Delta, TextDelta, ToolCallDelta
from tactician.model_classes import is_model
from tactician.suggestions import suggest_options
from tactician.testing.matching import RequestMatch


class ToolCall:
    """Step in which the model calls a tool: `ToolCall("get_weather", city="Paris")`."""

    def __init__(self, name: str, /, **arguments: object) -> None:
        self.name = name
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {self.arguments!r})"

    def to_call(self, id: str) -> CalledTool:
        """Return the call as a model makes it."""
        return CalledTool(id, self.name, _json(self.arguments))


Step: TypeAlias = str | ToolCall | Sequence[str | ToolCall] | ModelResponse | Exception | object
"""Text, a tool call or several at once, also with text before them, a whole response, an error to raise, or an object
that becomes JSON."""


class ScriptError(AssertionError):
    """Error for a call without an answer in the script, or for steps that were never used."""


@dataclass(slots=True)
class _Reply:
    match: RequestMatch
    step: Step
    left: int | None
    uses: int = 0

    def take(self, request: ModelRequest) -> bool:
        """Return whether this is the reply to a request, and count it."""
        if self.left == 0 or not self.match.fits(request):
            return False
        if self.left is not None:
            self.left -= 1
        self.uses += 1
        return True


@suggest_options
class When:
    """Condition of scripted replies, from `model.when(...)`."""

    def __init__(self, model: ScriptedModel, match: RequestMatch, times: int | None) -> None:
        self._model = model
        self._match = match
        self._times = times

    def reply(self, step: Step) -> ScriptedModel:
        """Give this reply to every matching request, or so many of them, and return the model."""
        self._model._replies.append(_Reply(self._match, step, self._times))
        return self._model


@suggest_options
class ScriptedModel:
    """`LanguageModel` that answers from a script: its steps in order, and replies to matching prompts.

    A matching reply comes before the next step. `calls` holds every request, and `find_calls` and `assert_called` look
    for some of them. Every call counts as 10 tokens in and 5 out.

    Args:
        steps: the answers, in order.
        features: the features of the model; all by default.
        name: the name in events and tallies.
    """

    def __init__(
        self,
        *steps: Step,
        features: Features | None = None,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.features = features or Features(tools=True, json_schema=True, images=True)
        self.calls: list[ModelRequest] = []
        self._steps = list(steps)
        self._next = 0
        self._replies: list[_Reply] = []
        self._checked: list[RequestMatch] = []

    def __repr__(self) -> str:
        return f"ScriptedModel({format_count(len(self._steps) - self._next, 'step')} left)"

    def script(self, *steps: Step) -> ScriptedModel:
        """Add steps to the end of the script, and return the model."""
        self._steps.extend(steps)
        return self

    def when(
        self,
        *,
        prompt_contains: str | None = None,
        wants: type | None = None,
        tool: str | None = None,
        times: int | None = None,
    ) -> When:
        """Return a condition for replies to requests that match every argument.

        Args:
            prompt_contains: a text in the prompt.
            wants: the type that the answer must be of; `str` for text.
            tool: the name of a tool that the model may call.
            times: number of replies, after which other replies and the steps count; no limit by default.
        """
        return When(self, RequestMatch(prompt_contains, wants, tool), times)

    def find_calls(
        self, *, prompt_contains: str | None = None, wants: type | None = None, tool: str | None = None
    ) -> list[ModelRequest]:
        """Return the requests so far that match every argument; see `when`."""
        return list(filter(RequestMatch(prompt_contains, wants, tool).fits, self.calls))

    def assert_called(
        self,
        *,
        prompt_contains: str | None = None,
        wants: type | None = None,
        tool: str | None = None,
        times: int | None = None,
    ) -> ModelRequest:
        """Check that there were requests that match every argument, and return the last.

        Args:
            prompt_contains: a text in the prompt.
            wants: the type that the answer must be of; `str` for text.
            tool: the name of a tool that the model may call.
            times: number of these requests; at least 1, when `None`.

        Raises:
            ScriptError: when there was none, or another number.
        """
        match = RequestMatch(prompt_contains, wants, tool)
        matching = list(filter(match.fits, self.calls))
        if not matching or times not in (None, len(matching)):
            expected = "a request" if times is None else format_count(times, "request")
            raise ScriptError(f"there should be {expected} with {match}; there are {len(matching)}{self._list_calls()}")
        self._checked.append(match)
        return matching[-1]

    def assert_no_other_calls(self) -> None:
        """Check that `assert_called` was asked for each request so far.

        Raises:
            ScriptError: when there are others.
        """
        others = [call for call in self.calls if not any(match.fits(call) for match in self._checked)]
        if others:
            raise ScriptError(f"{format_count(len(others), 'unexpected request')}; the first:\n{others[0].prompt}")

    def ai(self) -> Ai:
        """Return an `Ai` over this model only."""
        return Ai.over(self)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the matching reply, else the next step.

        Raises:
            ScriptError: when the script has no answer.
        """
        self.calls.append(request)
        step = self._take(request)
        if isinstance(step, Exception):
            raise step
        return self._response(step)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Yield the same answer as `generate`, word by word.

        Raises:
            ScriptError: when the script has no answer.
        """
        response = await self.generate(request)
        for index, part in enumerate(response.message.parts):
            if isinstance(part, Text):
                for word in part.text.splitlines(keepends=True) if "\n" in part.text else _words(part.text):
                    yield TextDelta(word)
            elif isinstance(part, CalledTool):
                yield ToolCallDelta(index, part.id, part.name, part.arguments)
        yield response

    def assert_exhausted(self) -> None:
        """Check that every step and every reply was used.

        Raises:
            ScriptError: when steps remain, or a reply was not used, or not as often as `times` says.
        """
        if left := self._steps[self._next :]:
            raise ScriptError(f"the script has {format_count(len(left), 'unused step')}; the next is {left[0]!r}")
        for reply in self._replies:
            if not reply.uses or reply.left:
                often = "" if not reply.left else f" {format_count(reply.uses + reply.left, 'time')}, but {reply.uses}"
                raise ScriptError(f"the reply to a request with {reply.match} was not used{often}{self._list_calls()}")

    def _list_calls(self) -> str:
        return "".join(f"\n- {call.prompt[:200]}" for call in self.calls)

    def _take(self, request: ModelRequest) -> Step:
        for reply in self._replies:
            if reply.take(request):
                return reply.step
        if self._next == len(self._steps):
            raise ScriptError(
                f"call {len(self.calls)} has no step: the script has {len(self._steps)}. The prompt:\n{request.prompt}"
            )
        self._next += 1
        return self._steps[self._next - 1]

    def _response(self, step: Step) -> ModelResponse:
        if isinstance(step, ModelResponse):
            return step
        usage = Usage(input_tokens=10, output_tokens=5, requests=1, model=self.name)
        if (calls_and_texts := _read_tool_calls(step)) is not None:
            parts = (
                Text(call) if isinstance(call, str) else call.to_call(f"call_{len(self.calls)}_{number}")
                for number, call in enumerate(calls_and_texts, start=1)
            )
            return ModelResponse(AssistantMessage(tuple(parts)), usage, "tool_calls", self.name)
        text = step if isinstance(step, str) else _json(step)
        return ModelResponse(AssistantMessage((Text(text),)), usage, "stop", self.name)


def _read_tool_calls(step: Step) -> Sequence[str | ToolCall] | None:
    """Return the tool calls of a step, with the texts around them; `None` for a step without any."""
    if isinstance(step, ToolCall):
        return (step,)
    if not isinstance(step, list | tuple) or not all(isinstance(item, str | ToolCall) for item in step):
        return None
    return step if any(isinstance(item, ToolCall) for item in step) else None


def _json(value: object) -> str:
    if is_model(value):
        return value.model_dump_json()
    if is_dataclass(value) or isinstance(value, dict | list | tuple | bool | int | float | None):
        return to_json(value).decode()
    raise TypeError(f"a step is text, a tool call, a response, an error or an object with a JSON form, not {value!r}")


def _words(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]
