"""Simulated users: a model, or a script, talks to an agent until it has reached its goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import pydantic
from typing_extensions import override

from tactician.agents import Agent, BaseRunnable
from tactician.errors import ConfigurationError
from tactician.llm import AssistantMessage, Message, ModelLike, Text, UserMessage
from tactician.runs import Input, RunContext, Runnable, RunResult
from tactician.runs.life.inputs import InputTypes
from tactician.runs.life.output import format_output
from tactician.suggestions import suggest_options

_INSTRUCTIONS: Final = (
    "You play a user who talks to an assistant. You are the user, and never the assistant. Write only what the user "
    "says next, in a sentence or two. Set `is_done` once the goal is reached, or the assistant cannot help."
)


class SimulatedUser(pydantic.BaseModel):
    """User of a dialogue: the inputs of a case.

    Attributes:
        goal: what the user wants.
        persona: who the user is, and how the user talks.
        script: what the user says, line by line; then no model plays the user.
        max_turns: number of messages of the user at most.
    """

    model_config = pydantic.ConfigDict(extra="forbid")

    goal: str = ""
    persona: str = ""
    script: tuple[str, ...] = ()
    max_turns: Annotated[int, pydantic.Field(ge=1, le=100)] = 8


class UserTurn(pydantic.BaseModel):
    """The next message of a simulated user."""

    text: str
    is_done: bool = False


class DialogueLine(pydantic.BaseModel):
    """Message of a dialogue."""

    speaker: Literal["user", "assistant"]
    text: str


class DialogueTranscript(pydantic.BaseModel):
    """Dialogue between a simulated user and an agent.

    Attributes:
        lines: the messages, oldest first.
        is_done: true when the user spoken that the goal is reached, or the script came to its end; false when the limit
            of turns ended the dialogue.
    """

    lines: tuple[DialogueLine, ...] = ()
    is_done: bool = False

    @property
    def turns(self) -> int:
        """Number of messages of the user."""
        return sum(line.speaker == "user" for line in self.lines)


@suggest_options
class SimulatedDialogue(BaseRunnable[DialogueTranscript]):
    """Dialogue of a simulated user with an agent, as a Runnable: `evaluate(dataset, SimulatedDialogue(agent))`.

    Its input is a `SimulatedUser`, its goal as a text, or a mapping with the fields of one.

    Args:
        target: the agent, a `Chatbot`, or any other Runnable that answers messages.
        model: model that plays the user; the default model of the platform by default.
    """

    def __init__(self, target: Runnable, *, model: ModelLike | None = None) -> None:
        self.name = f"{target.name} with a simulated user"
        self.description = f"A dialogue with {target.name}."
        self.target, self.model = target, model

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes((SimulatedUser,))

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[DialogueTranscript]:
        user = read_user(input)
        messages: list[Message] = []
        is_done = False
        for turn in range(user.max_turns):
            spoken, is_done = await self._speak(user, turn, messages, context)
            if not spoken:
                break
            messages.append(UserMessage(spoken))
            asked: Input = spoken if turn == 0 else list(messages)
            answer = await self.target.run(asked, context=context)
            messages.append(AssistantMessage((Text(format_output(answer.output)),)))
            if is_done:
                break
        return RunResult(_write_transcript(messages, is_done), tally=context.tally, run_id=context.run_id)

    async def _speak(
        self, user: SimulatedUser, turn: int, messages: Sequence[Message], context: RunContext
    ) -> tuple[str, bool]:
        """Return what the user says next, and whether that is the last message."""
        if user.script:
            return user.script[turn], turn + 1 == len(user.script)
        shown = "\n".join(f"{line.speaker}: {line.text}" for line in _write_transcript(messages, False).lines)
        prompt = f"Persona: {user.persona or 'anybody'}\nGoal: {user.goal}\n\nThe dialogue so far:\n{shown or '(none)'}"
        player = Agent("Simulated user", model=self.model, instructions=_INSTRUCTIONS, output_type=UserTurn)
        spoken = (await player.run(prompt, context=context.as_internal())).output
        # A user whose goal is reached before it says anything more has left.
        return ("" if spoken.is_done and messages else spoken.text), spoken.is_done


def read_user(input: Input) -> SimulatedUser:
    """Return the user that an input describes.

    Raises:
        ConfigurationError: when it describes no user.
    """
    try:
        user = SimulatedUser(goal=input) if isinstance(input, str) else SimulatedUser.model_validate(input)
    except pydantic.ValidationError as error:
        raise ConfigurationError(f"The input is no simulated user: {error}") from error
    if not user.goal and not user.script:
        raise ConfigurationError("The simulated user has no goal and no script: write one of them")
    return user if not user.script else user.model_copy(update={"max_turns": min(user.max_turns, len(user.script))})


def _write_transcript(messages: Sequence[Message], is_done: bool) -> DialogueTranscript:
    lines = (
        DialogueLine(speaker="user" if isinstance(each, UserMessage) else "assistant", text=each.text)
        for each in messages
    )
    return DialogueTranscript(lines=tuple(lines), is_done=is_done)
